// Command parley is an agent host for people's own data. This package is the command
// line; the commands are in its internal packages.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"syscall"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/admin"
	"parley/cmd/parley/internal/client"
	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/demo"
	"parley/cmd/parley/internal/eval"
	"parley/cmd/parley/internal/serve"
)

// description is what --help begins with.
const description = `An A2A-first agent host for people's own data.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not signed in, 4 not found, 5 the server cannot be reached or has too much to do, 6 the question has no answer, 130 interrupted.`

// cli is the command line. Every setting has its PARLEY_ variable, but for those
// whose variables are known by other names. A flag that says what to do this once
// has none: left in the environment, it would change what other commands do.
type cli struct {
	Serve      serve.Command      `cmd:"" help:"Run the server."`
	Demo       demo.Command       `cmd:"" help:"Run a server with sample data, to look around."`
	Ask        client.Ask         `cmd:"" help:"Ask a question about your data."`
	Tasks      client.Tasks       `cmd:"" help:"List what you have asked, or show one task whole."`
	Cancel     client.Cancel      `cmd:"" help:"Cancel tasks that are being worked on."`
	Ingest     client.Ingest      `cmd:"" help:"Upload files and have them ingested into a dataset. Broken off, it goes on where it was."`
	Datasets   client.Datasets    `cmd:"" help:"List the datasets that you may read, or describe one."`
	Share      client.Share       `cmd:"" help:"Share a namespace or a dataset of yours with somebody, list the shares, or take one back."`
	Card       client.Card        `cmd:"" help:"Verify the signatures of an agent's card."`
	Token      admin.Token        `cmd:"" help:"Print a token for a user, signed with the local key or the shared secret."`
	Migrate    admin.Migrate      `cmd:"" help:"Bring the database's schema up to date."`
	Backup     admin.Backup       `cmd:"" help:"Copy a data folder to an archive, also while a server works on it."`
	Restore    admin.Restore      `cmd:"" help:"Make a data folder of an archive."`
	Health     client.Healthcheck `cmd:"" name:"healthcheck" help:"Ask the server of this machine whether it is ready."`
	Eval       eval.Command       `cmd:"" help:"Measure how well questions are answered: load a suite of tables, ask its questions, compare."`
	Completion client.Completion  `cmd:"" help:"Print a script that has your shell complete parley's commands."`
	Version    versionCmd         `cmd:"" help:"Print the version."`
}

// version is set when a release is built.
var version = "dev"

// versionCmd is `parley version`.
type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(env command.Env) error {
	_, err := fmt.Fprintf(env.Stdout, "parley %s %s %s/%s\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

func main() {
	if code, is := runWorker(os.Args[1:]); is {
		os.Exit(code)
	}
	ctx, _ := command.UntilSignal(context.Background(), append(command.EndSignals(), syscall.SIGINT)...)
	os.Exit(run(ctx, os.Args[1:], command.Env{Stdout: os.Stdout, Stderr: os.Stderr, Version: version}))
}

// run is the program. It returns the exit code.
func run(ctx context.Context, args []string, env command.Env) int {
	exited := -1
	parser, err := kong.New(&cli{},
		kong.Name("parley"),
		kong.Description(description),
		kong.DefaultEnvars("PARLEY"),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(code int) { exited = code }),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	if err != nil {
		return command.Fail(env, command.ExitFailed, err)
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	if args[0] == client.CompleteWord {
		client.Complete(ctx, parser.Model, args[1:], env.Stdout)
		return command.ExitOK
	}
	env.Model = parser.Model
	parsed, err := parser.Parse(args)
	if exited >= 0 {
		return exited // --help has been answered
	}
	if err != nil {
		return command.Fail(env, command.ExitUsage, fmt.Errorf("%w (see: parley --help)", err))
	}
	if err := parsed.Run(env); err != nil {
		return command.Fail(env, command.ExitCode(ctx, err), err)
	}
	return command.ExitOK
}
