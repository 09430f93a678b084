package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"parley/internal/retry"
)

const (
	// maxAnswer limits the body of an answer, in bytes; models write far less.
	maxAnswer = 8 << 20
	// maxRefusal limits what is read of the body of an error.
	maxRefusal = 16 << 10
	maxMessage = 300
)

// exchange records the HTTP exchange of one call, since the clients lose parts of it.
type exchange struct {
	// want is set by the caller, the rest by the transport.
	want callOptions
	// accepted says that the status was 2xx.
	accepted bool
	// err is the refusal, or why the request failed.
	err error
	// stop is why a streamed answer ended, in the provider's words.
	stop string
}

// exchangeKey is the context key of the exchange.
type exchangeKey struct{}

// transport turns refusals into a [StatusError], records the call's exchange and limits
// the size of answers. A redirect counts as a refusal: no provider sends one, and the key
// would go along.
type transport struct {
	provider provider
	key      string
	next     http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	x := req.Context().Value(exchangeKey{}).(*exchange)
	defer func() { x.accepted, x.err = err == nil, err }()
	if req, err = t.amend(req, x.want); err != nil {
		return nil, err
	}
	if x.want.stream {
		return t.collect(req, x)
	}
	if resp, err = t.send(req); err == nil {
		resp.Body = &limited{ReadCloser: resp.Body, left: maxAnswer, onRead: func() {}}
	}
	return resp, err
}

// send gives a response with a 2xx status, or an error.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	if t.provider.bearer && t.key != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.key)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, redact(err, t.key)
	}
	if resp.StatusCode/100 != 2 {
		return nil, t.refusal(resp)
	}
	return resp, nil
}

// limited is a body that fails, rather than ends, when it is too long, so that a truncated
// answer is not taken as complete.
type limited struct {
	io.ReadCloser
	left int
	// onRead is called when bytes arrive.
	onRead func()
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w: it is longer than %d bytes", ErrNoAnswer, maxAnswer)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	if l.left -= n; n > 0 {
		l.onRead()
	}
	return n, err
}

func (t *transport) refusal(resp *http.Response) error {
	defer resp.Body.Close()
	refused := &StatusError{Provider: t.provider.name, Code: resp.StatusCode, RetryAfter: retry.After(resp.Header, maxBackoff)}
	if resp.StatusCode == http.StatusUnauthorized {
		return refused
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if text := errorMessage(body); !repeats(text, t.key) {
		refused.Message = shorten(text, maxMessage)
	}
	return refused
}

// errorMessage gives the message of an error body, {"error": "…"} or
// {"error": {"message": "…"}}; "" for all else, such as a proxy's page.
func errorMessage(body []byte) string {
	var page struct{ Error json.RawMessage }
	_ = json.Unmarshal(body, &page)
	var text string
	if json.Unmarshal(page.Error, &text) != nil {
		var object struct{ Message string }
		_ = json.Unmarshal(page.Error, &object)
		text = object.Message
	}
	return strings.TrimSpace(text)
}
