// Package apiclient is the client of a server's public interface: REST, A2A and uploads.
// The commands in client, demo and eval use it.
package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"parley/internal/baseurl"
	"parley/internal/locale"
	"parley/internal/retry"
)

// maxAnswer limits the answer of a server: results are smaller by default.
const maxAnswer = 64 << 20

// callLimit is how long a call may take, finishLimit one that joins the parts of a file.
const (
	callLimit   = time.Minute
	finishLimit = 15 * time.Minute
)

// Client calls a server for one user.
type Client struct {
	http   http.Client
	base   string
	token  Token
	locale string
	// responded says that something at the address speaks HTTP.
	responded atomic.Bool
}

// Token returns the token for a request.
type Token func(ctx context.Context) (string, error)

// New returns a client with one token for all requests.
func New(address, token string, connections int) *Client {
	return NewRenewing(address, func(context.Context) (string, error) { return token, nil }, connections)
}

// NewRenewing returns a client of a server, whose address may have the path of the interface,
// with a number of idle connections. Answers have numbers as the process's environment has
// them.
func NewRenewing(address string, token Token, connections int) *Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = connections
	base := strings.TrimSuffix(strings.TrimRight(address, "/"), baseurl.Root) + baseurl.Root
	return &Client{http: http.Client{Transport: transport, CheckRedirect: checkRedirect}, base: base, token: token, locale: locale.FromEnvironment(os.Getenv)}
}

// Call sends JSON, or nothing, to a path below the interface's root, and decodes the
// response unless into is nil. An error response is a *StatusError, none within a minute
// an *UnreachableError.
func (c *Client) Call(ctx context.Context, method, path string, body, into any) error {
	return c.callWithin(ctx, callLimit, method, path, body, into)
}

// CallText sends plain text to a path.
func (c *Client) CallText(ctx context.Context, method, path, text string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, errSilent)
	defer cancel()
	request, err := c.request(ctx, method, path, strings.NewReader(text))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "text/plain")
	_, _, err = c.Do(request)
	return ofParley(request, err)
}

// callWithin is Call with another limit.
func (c *Client) callWithin(ctx context.Context, limit time.Duration, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errSilent)
	defer cancel()
	return c.callUnlimited(ctx, method, path, body, into)
}

// callUnlimited is Call without a time limit.
func (c *Client) callUnlimited(ctx context.Context, method, path string, body, into any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return fmt.Errorf("write a request: %w", err)
		}
	}
	request, err := c.request(ctx, method, path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	_, answer, err := c.Do(request)
	if err != nil || into == nil {
		return ofParley(request, err)
	}
	if !json.Valid(answer) {
		return &ForeignError{serverOf(request), "no JSON"}
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return &ForeignError{serverOf(request), "JSON of another form"}
	}
	return nil
}

// request returns a request with the user's token and a JSON body.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	token, err := c.token(ctx)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept-Language", c.locale)
	return request, nil
}

// Do sends a request without adding a token, and reads the response. An error response
// is a *StatusError.
func (c *Client) Do(request *http.Request) (http.Header, []byte, error) {
	response, answer, err := c.read(request)
	switch {
	case err != nil:
		return nil, nil, err
	case response.StatusCode/100 == 2:
		return response.Header, answer, nil
	}
	return nil, nil, refusal(response.StatusCode, response.Header, answer)
}

// read sends a request and reads the response, whatever its status.
func (c *Client) read(request *http.Request) (*http.Response, []byte, error) {
	response, err := c.send(request)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = response.Body.Close() }()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, nil, unreachable(request, err)
	case len(answer) > maxAnswer:
		return nil, nil, fmt.Errorf("the server's answer is larger than %d bytes", maxAnswer)
	}
	return response, answer, nil
}

// mcpLimit is how long a call of a tool may take, which can wait for an answer.
const mcpLimit = 7 * time.Minute

// MCP sends a message of MCP, and returns the response, which is empty for a notification. A
// response that is no message of the protocol is an error.
func (c *Client) MCP(ctx context.Context, header http.Header, message []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, mcpLimit, errSilent)
	defer cancel()
	request, err := c.request(ctx, http.MethodPost, "", bytes.NewReader(message))
	if err != nil {
		return nil, err
	}
	request.URL.Path = strings.TrimSuffix(request.URL.Path, baseurl.Root) + "/mcp"
	request.Header.Set("Accept", "application/json, text/event-stream")
	maps.Copy(request.Header, header)
	response, answer, err := c.read(request)
	if err != nil {
		return nil, err
	}
	var read struct{ JSONRPC string }
	switch valid := json.Unmarshal(answer, &read) == nil; {
	case valid && read.JSONRPC != "", response.StatusCode == http.StatusAccepted:
		return answer, nil
	case response.StatusCode/100 == 2:
		return nil, &ForeignError{serverOf(request), "no message of MCP"}
	}
	return nil, ofParley(request, refusal(response.StatusCode, response.Header, answer))
}

// send sends a request and returns the response, whose body is not read yet.
func (c *Client) send(request *http.Request) (*http.Response, error) {
	response, err := c.http.Do(request)
	if redirected, ok := errors.AsType[*ForeignError](err); ok {
		return nil, redirected
	}
	if err != nil {
		return nil, unreachable(request, err)
	}
	c.responded.Store(true)
	return response, nil
}

// maxRedirects limits the redirects of a request.
const maxRedirects = 10

// checkRedirect refuses a redirect to another server: the token and the data are for this one.
func checkRedirect(request *http.Request, via []*http.Request) error {
	from, to := serverOf(via[0]), serverOf(request)
	switch {
	case from != to:
		return &ForeignError{from, "a redirect to " + to + "; use that address if you trust it"}
	case len(via) >= maxRedirects:
		return &ForeignError{from, "a redirect without an end"}
	}
	return nil
}

// Status returns the HTTP status of a *StatusError; 0 for another error.
func Status(err error) int {
	if refused, ok := errors.AsType[*StatusError](err); ok {
		return refused.Status
	}
	return 0
}

const (
	// maxAttempts is how many attempts in a row may fail.
	maxAttempts = 9
	// The pauses between attempts grow from initialBackoff to maxBackoff.
	initialBackoff = 250 * time.Millisecond
	maxBackoff     = 10 * time.Second
)

// CallWithRetry is Call for idempotent requests: it retries transient errors.
func (c *Client) CallWithRetry(ctx context.Context, method, path string, body, into any) error {
	return retry.Do(ctx, retryPolicy, func() error { return c.Call(ctx, method, path, body, into) })
}

// retryAfter returns Retry-After with jitter; 0 for none.
func retryAfter(err error) time.Duration {
	if refused, ok := errors.AsType[*StatusError](err); ok && refused.After > 0 {
		return refused.After + rand.N(refused.After/4)
	}
	return 0
}

// retryPolicy returns up after several failures in a row.
var retryPolicy = retry.Policy{
	Initial: initialBackoff, Max: maxBackoff, Jitter: true, Tries: maxAttempts, Retryable: transient, After: retryAfter,
}

// transient reports whether a later attempt may succeed.
func transient(err error) bool {
	var stale *staleError
	status := Status(err)
	return errors.As(err, &stale) || Unavailable(err) || status >= http.StatusInternalServerError || status == http.StatusRequestTimeout
}
