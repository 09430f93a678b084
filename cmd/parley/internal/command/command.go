// Package command has what all commands share: their environment, the parsing of flags,
// signals, and exit codes.
package command

import (
	"io"

	"github.com/alecthomas/kong"
)

// Env is the environment of a command.
type Env struct {
	Stdout, Stderr io.Writer
	// Version is the version of the program.
	Version string
	// Model is the whole command line: all commands and their flags.
	Model *kong.Application
}

// NewChecker returns a checker of the command line's flags.
func (e Env) NewChecker() *Checker { return NewChecker(e.Model) }
