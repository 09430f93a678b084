package llm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"time"
)

// callOptions is what a call asks of a provider that langchaingo has no words for. It
// is put into the request on its way:
//
//   - A shape. OpenAI's client takes a JSON schema for a whole client and not for
//     a call, Anthropic's sends tools and cannot insist on one, Ollama's knows
//     "json" and no schema.
//   - A stream. All three clients take one that breaks off for a whole answer;
//     two read it in goroutines that stay behind after an error, and that a wrong
//     index takes the process down with. So the transport reads the stream and
//     hands them a whole answer.
type callOptions struct {
	// shape is what the answer has to look like; nil for free text.
	shape *shape
	// stream has the answer sent as it is written.
	stream bool
	// idle is how long a stream may be silent.
	idle time.Duration
}

// shape is a JSON schema and its name.
type shape struct {
	name   string
	schema json.RawMessage
	// all says that an answer that was cut off is not asked for once more: what
	// is briefer would be less than was asked for.
	all bool
}

// fields are those of a request's JSON.
type fields map[string]json.RawMessage

func (f fields) set(name string, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		panic(fmt.Sprintf("field %s: %v", name, err)) // only values from below
	}
	f[name] = text
}

// amend gives the request with what is wanted in it.
func (t *transport) amend(req *http.Request, want callOptions) (*http.Request, error) {
	if req.Body == nil || want.shape == nil && !want.stream {
		return req, nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	_ = req.Body.Close()
	var parts fields
	if err := json.Unmarshal(body, &parts); err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}
	t.provider.amend(parts, t.model, want)
	if body, err = json.Marshal(parts); err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	req = req.Clone(req.Context())
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
	return req, nil
}

// fixedTemperature matches OpenAI's models that refuse a temperature; the client
// leaves it out for some of them.
var fixedTemperature = regexp.MustCompile(`^(o\d|gpt-5)`)

func amendOpenAI(f fields, model string, want callOptions) {
	if want.stream {
		f.set("stream", true)
		f.set("stream_options", map[string]any{"include_usage": true})
	}
	if want.shape != nil {
		f.set("response_format", map[string]any{
			"type":        "json_schema",
			"json_schema": map[string]any{"name": want.shape.name, "strict": true, "schema": want.shape.schema},
		})
	}
	if fixedTemperature.MatchString(model) {
		delete(f, "temperature")
	}
}

func amendAnthropic(f fields, _ string, want callOptions) {
	if want.stream {
		f.set("stream", true)
	}
	if want.shape != nil {
		f.set("tools", []any{map[string]any{"name": want.shape.name, "input_schema": want.shape.schema}})
		f.set("tool_choice", map[string]any{"type": "tool", "name": want.shape.name})
	}
}

func amendOllama(f fields, _ string, want callOptions) {
	if want.stream {
		f.set("stream", true)
	}
	if want.shape != nil {
		f["format"] = want.shape.schema
	}
}
