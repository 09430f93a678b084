package command

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"parley/cmd/parley/internal/apiclient"
	"parley/cmd/parley/internal/console"
	"parley/cmd/parley/internal/login"
)

// The exit codes, which scripts rely on.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitNotSignedIn = 3
	ExitNotFound    = 4
	ExitUnavailable = 5
	ExitNoAnswer    = 6
	ExitInput       = 7
	ExitInterrupted = 130
)

// Errors that have an exit code of their own.
var (
	ErrNoToken = errors.New("no token")
	// ErrBadToken is that the token cannot be sent in a header.
	ErrBadToken = errors.New("the token has a line break or another control character")
	// ErrNoAnswer is a question without an answer.
	ErrNoAnswer = errors.New("no answer")
	// ErrUnanswered is ErrNoAnswer for a question that was not understood, or that the
	// data does not answer.
	ErrUnanswered = fmt.Errorf("%w", ErrNoAnswer)
	// ErrInputRequired is a question that the agent asks back, and that is not answered.
	ErrInputRequired = errors.New("the agent waits for an answer")
	// ErrInterrupted is an interruption by the user.
	ErrInterrupted = errors.New("interrupted")
)

// NotFoundError is something that does not exist, found out without a server.
type NotFoundError string

func (e NotFoundError) Error() string { return string(e) }

// Fail prints an error, which may have text of a server, and advice. It returns the exit
// code.
func Fail(env Env, code int, err error) int {
	if code == ExitInterrupted && !errors.Is(err, ErrInterrupted) {
		err = ErrInterrupted
	}
	fmt.Fprintf(env.Stderr, "parley: %s\n", console.Text(err.Error()))
	if todo := advice(code, err); todo != "" {
		fmt.Fprintf(env.Stderr, "  %s\n", todo)
	}
	return code
}

// ExitCode is the exit code of a command that failed.
func ExitCode(ctx context.Context, err error) int {
	var usage UsageError
	var missing NotFoundError
	var refused *apiclient.RPCError
	var foreign *apiclient.ForeignError
	switch status := apiclient.Status(err); {
	case errors.As(err, &usage):
		return ExitUsage
	case errors.Is(err, ErrInterrupted), ctx.Err() != nil && errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, ErrNoToken), errors.Is(err, ErrBadToken), errors.Is(err, login.ErrEnded), status == http.StatusUnauthorized:
		return ExitNotSignedIn
	case errors.As(err, &missing), status == http.StatusNotFound, errors.As(err, &refused) && refused.Code == apiclient.TaskNotFound:
		return ExitNotFound
	case apiclient.Unavailable(err), errors.As(err, &foreign):
		return ExitUnavailable
	case errors.Is(err, ErrNoAnswer):
		return ExitNoAnswer
	case errors.Is(err, ErrInputRequired):
		return ExitInput
	}
	return ExitFailed
}

// advice returns what to do about an error, "" for nothing.
func advice(code int, err error) string {
	var refused *apiclient.RPCError
	switch {
	case errors.Is(err, ErrNoToken):
		return "run `parley login`, or make a token with `parley token USER` in the server's data folder and set PARLEY_TOKEN to it"
	case code == ExitNotSignedIn:
		return "the token is wrong or has expired: run `parley login`, or make one with `parley token USER` in the server's data folder and set PARLEY_TOKEN to it"
	case code == ExitUnavailable && apiclient.Status(err) == 0:
		return "is it running? Start one with `parley serve`, or set PARLEY_SERVER to where it is"
	case code == ExitUnavailable:
		return "the server has too much to do, or cannot work now: try again later"
	case errors.Is(err, ErrUnanswered):
		return "ask in other words; `parley datasets` lists what there is to ask about"
	case code == ExitNotFound && apiclient.Status(err) == http.StatusNotFound:
		return "`parley datasets` lists what you may read"
	case code == ExitNotFound && errors.As(err, &refused):
		return "`parley tasks` lists what you have asked"
	}
	return ""
}
