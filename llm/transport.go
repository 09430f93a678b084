package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

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
	if x.want.idle > 0 {
		return t.collect(req, x)
	}
	if resp, err = t.send(req); err == nil {
		resp.Body = &limited{ReadCloser: resp.Body, left: maxAnswer, onRead: func() {}}
	}
	return resp, err
}

// send returns a response with a 2xx status, or an error.
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

// errorMessage returns the message of an error body, {"error": "…"} or
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

// callOptions has what langchaingo cannot express. The transport adds it to the request:
//
//   - A shape. OpenAI's client has one JSON schema for all calls, Anthropic's cannot
//     require a tool, and Ollama's has no schemas.
//   - A stream, which the transport reads. The clients would accept an incomplete stream as
//     an answer, and two read it in goroutines that can leak and panic.
type callOptions struct {
	// shape is the form of the answer; nil for free text.
	shape *shape
	// idle is how long a stream may be silent; 0 for no stream and no shape.
	idle time.Duration
}

// shape is a JSON schema.
type shape struct {
	name   string
	schema json.RawMessage
	// all says not to ask for a shorter answer, which would lack data.
	all bool
}

func (t *transport) amend(req *http.Request, want callOptions) (*http.Request, error) {
	if want.idle == 0 {
		return req, nil
	}
	var fields map[string]any
	decoder := json.NewDecoder(req.Body)
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	_ = req.Body.Close()
	fields["stream"] = true
	t.provider.amend(fields, want.shape)
	body, _ := json.Marshal(fields) // it was JSON: it cannot fail
	req = req.Clone(req.Context())
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	req.ContentLength = int64(len(body))
	return req, nil
}

// fixedTemperature matches OpenAI's models that refuse a temperature. The client omits it
// for some of them only.
var fixedTemperature = regexp.MustCompile(`^(o\d|gpt-5)`)

func amendOpenAI(request map[string]any, form *shape) {
	request["stream_options"] = map[string]any{"include_usage": true}
	if form != nil {
		request["response_format"] = map[string]any{
			"type":        "json_schema",
			"json_schema": map[string]any{"name": form.name, "strict": true, "schema": form.schema},
		}
	}
	if model, _ := request["model"].(string); fixedTemperature.MatchString(model) {
		delete(request, "temperature")
	}
}

func amendAnthropic(request map[string]any, form *shape) {
	if form != nil {
		request["tools"] = []any{map[string]any{"name": form.name, "input_schema": form.schema}}
		request["tool_choice"] = map[string]any{"type": "tool", "name": form.name}
	}
}

func amendOllama(request map[string]any, form *shape) {
	if form != nil {
		request["format"] = form.schema
	}
}
