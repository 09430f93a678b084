// Command parley is an agent host for people's own data. This package is the command
// line; the commands are in its internal packages: a new one is a field of cli.
package main

import (
	"context"
	"errors"
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

// description is the beginning of --help.
const description = `Load data, ask questions about it in plain English, and serve agents over A2A.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not signed in, 4 not found, 5 the server is unreachable or overloaded, 6 the question has no answer, 7 the agent waits for an answer, 130 interrupted.`

// cli is the command line. Every setting has a PARLEY_ variable, or the variable that a
// standard names. A flag for a single call has none: in the environment it would change
// other commands.
type cli struct {
	Serve      serve.Command      `cmd:"" help:"Run the server."`
	Demo       demo.Command       `cmd:"" help:"Run a server with sample data."`
	Ask        client.Ask         `cmd:"" help:"Ask a question about your data."`
	Tasks      client.Tasks       `cmd:"" help:"List your tasks, or show one."`
	Cancel     client.Cancel      `cmd:"" help:"Cancel running tasks."`
	Ingest     client.Ingest      `cmd:"" help:"Upload files and ingest them into a dataset. Resumes if interrupted."`
	Query      client.Query       `cmd:"" help:"Run a SELECT statement and print its rows."`
	Datasets   client.Datasets    `cmd:"" help:"List the datasets that you can read, or describe one."`
	Describe   client.Describe    `cmd:"" help:"Describe a dataset and its columns."`
	Head       client.Head        `cmd:"" help:"Print the first rows of a dataset."`
	Download   client.Download    `cmd:"" help:"Download all rows of a dataset as a file."`
	Rename     client.Rename      `cmd:"" help:"Rename a dataset."`
	Delete     client.Delete      `cmd:"" help:"Delete a dataset."`
	Share      client.Share       `cmd:"" help:"Share a namespace or a dataset with a user, list the shares, or revoke one."`
	Rules      client.Rules       `cmd:"" help:"Show a user or a group some rows of a dataset only, list these rules, or remove one."`
	Login      client.Login       `cmd:"" help:"Sign in to a server, for later commands."`
	Logout     client.Logout      `cmd:"" help:"Sign out from a server."`
	Tokens     client.Tokens      `cmd:"" help:"List, create and revoke your tokens."`
	Open       client.Open        `cmd:"" help:"Open the page in a browser, signed in."`
	MCP        client.MCP         `cmd:"" name:"mcp" help:"Serve the tools of a server to a local MCP client, over standard input and output."`
	Receipt    client.Receipt     `cmd:"" help:"Print the signed receipt of an answer: its queries, and hashes of its data and rows."`
	Verify     client.Verify      `cmd:"" help:"Verify the signature of a receipt, and run its queries again."`
	Card       client.Card        `cmd:"" help:"Verify the signatures of an agent's card."`
	Token      admin.Token        `cmd:"" help:"Print a token for a user, signed with the local key or the shared secret."`
	Migrate    admin.Migrate      `cmd:"" help:"Migrate the schema of the database to the version of this program."`
	Backup     admin.Backup       `cmd:"" help:"Back up a data folder to an archive, also while a server uses it."`
	Restore    admin.Restore      `cmd:"" help:"Restore a data folder from an archive."`
	Health     client.Healthcheck `cmd:"" name:"healthcheck" help:"Check whether the server on this machine is ready."`
	Eval       eval.Command       `cmd:"" help:"Measure how well questions are answered, with a suite of tables and questions."`
	Completion client.Completion  `cmd:"" help:"Print a completion script for a shell."`
	Version    versionCmd         `cmd:"" help:"Print the version."`

	VersionFlag kong.VersionFlag `env:"-" name:"version" help:"Print the version."`
}

// version is set when a release is built.
var version = "dev"

// versionCmd is `parley version`.
type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(env command.Env) error {
	_, err := fmt.Fprintln(env.Stdout, versionText(env.Version))
	return err
}

func versionText(version string) string {
	return fmt.Sprintf("parley %s %s %s/%s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
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
	var flags command.Flags
	parser, err := kong.New(&cli{},
		&flags,
		kong.Name("parley"),
		kong.Description(description),
		kong.DefaultEnvars("PARLEY"),
		kong.Vars{"version": versionText(env.Version)},
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
		return command.Fail(env, command.ExitUsage, fmt.Errorf("%w (see: %s --help)", err, commandOf(err)))
	}
	env.Problems = flags.Problems(parsed)
	if err := parsed.Run(env); err != nil {
		return command.Fail(env, command.ExitCode(ctx, err), err)
	}
	return command.ExitOK
}

// commandOf returns the command that an error of the command line is about.
func commandOf(err error) string {
	var parse *kong.ParseError
	if !errors.As(err, &parse) || parse.Context.Selected() == nil {
		return "parley"
	}
	return "parley " + parse.Context.Selected().Path()
}
