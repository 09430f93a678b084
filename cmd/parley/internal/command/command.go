// Package command has what all commands share: their environment, the parsing of flags,
// signals, and exit codes.
package command

import (
	"io"
	"slices"

	"github.com/alecthomas/kong"
)

// Env is the environment of a command.
type Env struct {
	Stdout, Stderr io.Writer
	// Version is the version of the program.
	Version string
	// Model is the whole command line: all commands and their flags.
	Model *kong.Application
	// Problems are what is wrong with the flags of the command.
	Problems []string
}

// NewChecker returns a checker that has the problems of the command's flags.
func (e Env) NewChecker() *Checker {
	return &Checker{problems: slices.Clone(e.Problems), model: e.Model}
}
