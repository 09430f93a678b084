// Package command has what all commands of the program share: what they run with,
// how their flags are checked, which signals end them, and their exit codes.
package command

import (
	"io"

	"github.com/alecthomas/kong"
)

// Env is what a command runs with.
type Env struct {
	Stdout, Stderr io.Writer
	// Version is that of the program.
	Version string
	// Model is the whole command line: all commands and their flags.
	Model *kong.Application
}

// NewChecker returns a checker of the command line's flags.
func (e Env) NewChecker() *Checker { return NewChecker(e.Model) }
