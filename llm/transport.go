package llm

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"parley/internal/retry"
)

const (
	// maxAnswer bounds what is read of one answer, in bytes; far more than a
	// model writes.
	maxAnswer = 8 << 20
	// maxRefusal bounds what is read of an error page.
	maxRefusal = 16 << 10
	maxMessage = 300
)

// exchange keeps what happened on the wire during one call. The libraries above
// drop or blur it, each in its own way.
type exchange struct {
	// want goes in; the rest comes out.
	want callOptions
	// accepted says that a 2xx answer came.
	accepted bool
	// err is the refusal, or why the provider could not be asked.
	err error
	// stop says why a streamed answer ended, in the provider's words.
	stop string
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

// transport turns every refusal into a [StatusError], notes failures in the
// call's exchange and bounds the size of answers. A redirect counts as a
// refusal: no provider sends one, and the key would go along.
type transport struct {
	provider   provider
	model, key string
	// sendKey adds the key as a bearer token, for a client that sends none.
	sendKey bool
	next    http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		x = &exchange{}
	}
	resp, err := t.exchange(req, x)
	x.accepted, x.err = err == nil, err
	return resp, err
}

func (t *transport) exchange(req *http.Request, x *exchange) (*http.Response, error) {
	req, err := t.amend(req, x.want)
	if err != nil {
		return nil, err
	}
	if x.want.stream {
		return t.collect(req, x)
	}
	resp, err := t.send(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// send gives an answer that the provider stands by.
func (t *transport) send(req *http.Request) (*http.Response, error) {
	if t.sendKey {
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

// limited is a body that fails, rather than ends, where it grows too long: a
// cut answer must not pass for a whole one.
type limited struct {
	io.ReadCloser
	left int
}

// Read implements [io.Reader].
func (l *limited) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, fmt.Errorf("%w: it is longer than %d bytes", ErrNoAnswer, maxAnswer)
	}
	n, err := l.ReadCloser.Read(p[:min(len(p), l.left)])
	l.left -= n
	return n, err
}

func (t *transport) refusal(resp *http.Response) error {
	defer resp.Body.Close()
	refused := &StatusError{Provider: t.provider.name, Code: resp.StatusCode, RetryAfter: retry.After(resp.Header, maxBackoff)}
	if resp.StatusCode == http.StatusUnauthorized {
		return refused
	}
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	if text := explanation(body); !repeats(text, t.key) {
		refused.Message = shorten(text, maxMessage)
	}
	return refused
}

// explanation finds the provider's message in an error body: {"error": "…"} or
// {"error": {"message": "…"}}. Anything else, such as a proxy's page, has none.
func explanation(body []byte) string {
	var page struct{ Error json.RawMessage }
	if json.Unmarshal(body, &page) != nil {
		return ""
	}
	var text string
	if json.Unmarshal(page.Error, &text) == nil {
		return strings.TrimSpace(text)
	}
	var object struct{ Message string }
	if json.Unmarshal(page.Error, &object) != nil {
		return ""
	}
	return strings.TrimSpace(object.Message)
}
