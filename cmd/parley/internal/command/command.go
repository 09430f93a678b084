// Package command has what all commands share: their environment, the parsing of flags,
// signals, and exit codes.
package command

import (
	"context"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

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

// UntilSignal returns a context that ends with the first signal. A second one ends
// the process at once.
func UntilSignal(ctx context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// EndSignals are the signals that end the program: SIGTERM, and SIGHUP of a terminal
// that is closed, unless nohup ignores it.
func EndSignals() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// UnknownVariables returns the PARLEY_ variables that are no setting of any command,
// perhaps misspelt.
func UnknownVariables(model *kong.Application, environ []string) []string {
	known := map[string]bool{}
	for _, node := range nodes(model) {
		for _, flag := range node.Flags {
			for _, variable := range flag.Envs {
				known[variable] = true
			}
		}
	}
	var unknown []string
	for _, setting := range environ {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "PARLEY_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// nodes are the commands and the application.
func nodes(model *kong.Application) []*kong.Node {
	return append(append([]*kong.Node{}, model.Children...), model.Node)
}
