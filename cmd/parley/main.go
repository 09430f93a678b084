// Command parley is an agent host for people's own data. This package reads the
// settings, joins the parts and runs them; what the parts do is theirs.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"parley/internal/console"
)

// The exit codes that a script can tell apart.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotSignedIn = 3
	exitNotFound    = 4
	exitUnavailable = 5
	exitNoAnswer    = 6
	exitInterrupted = 130
)

// description is what --help begins with.
const description = `An A2A-first agent host for people's own data.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not signed in, 4 not found, 5 the server cannot be reached or has too much to do, 6 the question has no answer, 130 interrupted.`

// cli is the command line. Every setting has its PARLEY_ variable, but for those
// whose variables are known by other names. A flag that says what to do this once
// has none: left in the environment, it would change what other commands do.
type cli struct {
	Serve      serveCmd      `cmd:"" help:"Run the server."`
	Demo       demoCmd       `cmd:"" help:"Run a server with sample data, to look around."`
	Ask        askCmd        `cmd:"" help:"Ask a question about your data."`
	Tasks      tasksCmd      `cmd:"" help:"List what you have asked, or show one task whole."`
	Cancel     cancelCmd     `cmd:"" help:"Cancel tasks that are being worked on."`
	Ingest     ingestCmd     `cmd:"" help:"Upload files and have them ingested into a dataset. Broken off, it goes on where it was."`
	Datasets   datasetsCmd   `cmd:"" help:"List the datasets that you may read, or describe one."`
	Share      shareCmd      `cmd:"" help:"Share a namespace or a dataset of yours with somebody, list the shares, or take one back."`
	Token      tokenCmd      `cmd:"" help:"Print a token for a user, signed with the local key or the shared secret."`
	Migrate    migrateCmd    `cmd:"" help:"Bring the database's schema up to date."`
	Backup     backupCmd     `cmd:"" help:"Copy a data folder to an archive, also while a server works on it."`
	Restore    restoreCmd    `cmd:"" help:"Make a data folder of an archive."`
	Health     healthCmd     `cmd:"" name:"healthcheck" help:"Ask the server of this machine whether it is ready."`
	Eval       evalCmd       `cmd:"" help:"Measure how well questions are answered: load a suite of tables, ask its questions, compare."`
	Completion completionCmd `cmd:"" help:"Print a script that has your shell complete parley's commands."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
}

// variableOf names the variable of a flag, in brackets, "" where there is none.
func variableOf(flag string) string {
	parser, err := kong.New(&cli{}, kong.DefaultEnvars("PARLEY"))
	if err != nil {
		return "" // run has told
	}
	for _, command := range parser.Model.Children {
		for _, f := range command.Flags {
			if f.Name == flag && len(f.Envs) > 0 {
				return " (" + f.Envs[0] + ")"
			}
		}
	}
	return ""
}

// output is where a command writes.
type output struct {
	stdout, stderr io.Writer
}

func main() {
	if code, is := runWorker(os.Args[1:]); is {
		os.Exit(code)
	}
	ctx, _ := untilSignal(context.Background(), append(ends(), syscall.SIGINT)...)
	os.Exit(run(ctx, os.Args[1:], output{os.Stdout, os.Stderr}))
}

// untilSignal gives a context that ends with a first signal. A second one ends the
// process at once.
func untilSignal(ctx context.Context, signals ...os.Signal) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(ctx, signals...)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// ends are the signals that end everything: somebody's kill, and the terminal
// that is closed, unless nohup has us go on.
func ends() []os.Signal {
	if signal.Ignored(syscall.SIGHUP) {
		return []os.Signal{syscall.SIGTERM}
	}
	return []os.Signal{syscall.SIGTERM, syscall.SIGHUP}
}

// run is the program: it gives the exit code.
func run(ctx context.Context, args []string, out output) int {
	exited := -1
	parser, err := kong.New(&cli{},
		kong.Name("parley"),
		kong.Description(description),
		kong.DefaultEnvars("PARLEY"),
		kong.Writers(out.stdout, out.stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(out),
	)
	if err != nil {
		return fail(out, exitFailed, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == completeWord {
		complete(ctx, parser.Model, args[1:], out.stdout)
		return exitOK
	}
	command, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help has been answered
	}
	if err != nil {
		return fail(out, exitUsage, fmt.Errorf("%w (see: parley --help)", err))
	}
	if err := command.Run(); err != nil {
		return fail(out, exitCode(ctx, err), err)
	}
	return exitOK
}

// fail prints an error, which may repeat what a server said, and what to do.
func fail(out output, code int, err error) int {
	if code == exitInterrupted && !errors.Is(err, errInterrupted) {
		err = errInterrupted // whatever it was doing
	}
	fmt.Fprintf(out.stderr, "parley: %s\n", console.Text(err.Error()))
	if todo := advice(code, err); todo != "" {
		fmt.Fprintf(out.stderr, "  %s\n", todo)
	}
	return code
}
