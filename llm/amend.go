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

// callOptions has what langchaingo cannot express. The transport adds it to the request:
//
//   - A shape. OpenAI's client has a JSON schema for all calls and not for one,
//     Anthropic's cannot require a tool, and Ollama's has no schemas.
//   - A stream. All three clients accept an incomplete stream as an answer, and two read it
//     in goroutines that leak after an error and panic at a wrong index. The
//     transport reads the stream instead and gives them a complete answer.
type callOptions struct {
	// shape is the form of the answer; nil for free text.
	shape  *shape
	stream bool
	// idle is how long a stream may be silent.
	idle time.Duration
}

// shape is a JSON schema.
type shape struct {
	name   string
	schema json.RawMessage
	// all says that a truncated answer is not requested again: a shorter one would lack
	// data.
	all bool
}

// amend adds the options to a request.
func (t *transport) amend(req *http.Request, want callOptions) (*http.Request, error) {
	if !want.stream {
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
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
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
