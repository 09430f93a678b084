package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// maxEvent limits an event of a stream, in bytes.
const maxEvent = 1 << 20

// collect sends a request for a stream and returns the complete answer. It stops when nothing
// arrives for x.want.idle.
func (t *transport) collect(req *http.Request, x *exchange) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	defer cancel(nil)
	watch := time.AfterFunc(x.want.idle, func() { cancel(errIdle) })
	defer watch.Stop()
	resp, err := t.send(req.WithContext(ctx))
	if err == nil {
		err = t.readStream(resp, x, func() { watch.Reset(x.want.idle) })
	}
	if err == nil {
		return resp, nil
	}
	if errors.Is(context.Cause(ctx), errIdle) {
		err = errIdle
	}
	return nil, err
}

// readStream replaces the body by the complete answer. A body that is not a stream is
// copied.
func (t *transport) readStream(resp *http.Response, x *exchange, onRead func()) error {
	defer resp.Body.Close()
	body := bufio.NewReader(&limited{ReadCloser: resp.Body, left: maxAnswer, onRead: onRead})
	sse, err := isSSE(body)
	var text []byte
	switch {
	case err != nil:
	case sse || t.provider.ndjson:
		var answer *streamed
		if answer, err = t.provider.readEvents(body, sse); err == nil {
			text, x.stop = answer.body(), answer.stop
		}
	default:
		text, err = io.ReadAll(body)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errIncomplete, redact(err, t.key))
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// isSSE reports whether a body has server-sent events, by its first character: JSON begins
// with a bracket. Some servers with OpenAI's interface do not set the content type.
func isSSE(body *bufio.Reader) (bool, error) {
	for {
		next, err := body.Peek(1)
		switch {
		case errors.Is(err, io.EOF):
			return false, nil
		case err != nil:
			return false, err
		case bytes.ContainsAny(next, " \t\r\n"):
			_, _ = body.Discard(1)
		default:
			return bytes.ContainsAny(next, "deir:"), nil
		}
	}
}

// readEvents reads events, each a line, until the answer is complete.
func (p provider) readEvents(body io.Reader, sse bool) (*streamed, error) {
	answer := &streamed{}
	lines := bufio.NewScanner(body)
	lines.Buffer(make([]byte, 0, 4<<10), maxEvent)
	for lines.Scan() {
		event := bytes.TrimSpace(lines.Bytes())
		if sse {
			data, found := bytes.CutPrefix(event, []byte("data:"))
			if !found {
				continue // names, ids, comments
			}
			event = bytes.TrimSpace(data)
		}
		if len(event) == 0 {
			continue
		}
		if last, err := p.readEvent(answer, event); err != nil || last {
			return answer, err
		}
	}
	if err := lines.Err(); err != nil || answer.complete {
		return answer, err
	}
	return answer, io.ErrUnexpectedEOF
}

// maxText limits the text of a streamed answer, in bytes. No job needs as much.
const maxText = 256 << 10

// streamed is an answer from the events of a stream, which provider.readEvent adds.
type streamed struct {
	text boundedText
	// input is the input of a tool, as text: the client would decode numbers as floats.
	input boundedText
	// stop is why the model stopped, in the provider's words.
	stop    string
	in, out int
	// complete says that the provider has marked the answer as complete.
	complete bool
}

type boundedText struct{ strings.Builder }

func (b *boundedText) add(text string) error {
	if b.Len()+len(text) > maxText {
		return fmt.Errorf("%w: it does not come to an end", ErrNoAnswer)
	}
	b.WriteString(text)
	return nil
}

// body returns the answer as if it had not been streamed. It has the fields of all
// providers; the client reads those of its own.
func (a *streamed) body() []byte {
	text := cmp.Or(a.input.String(), a.text.String())
	message := map[string]any{"role": "assistant", "content": text}
	content := []any{}
	if text != "" {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	body, _ := json.Marshal(map[string]any{ // texts and numbers: it cannot fail
		// OpenAI
		"choices": []any{map[string]any{"message": message, "finish_reason": a.stop}},
		"usage":   map[string]int{"prompt_tokens": a.in, "completion_tokens": a.out, "input_tokens": a.in, "output_tokens": a.out},
		// Anthropic, which has the same usage
		"type": "message", "role": "assistant", "content": content, "stop_reason": a.stop,
		// Ollama
		"message": message, "done": true, "prompt_eval_count": a.in, "eval_count": a.out,
	})
	return body
}

// decodeEvent decodes an event, which may be an error message.
func decodeEvent(event []byte, into any) error {
	if message := errorMessage(event); message != "" {
		return errors.New(message)
	}
	if json.Unmarshal(event, into) != nil {
		return errors.New("an event is not JSON")
	}
	return nil
}

// readOpenAI reads a chunk of OpenAI's chat completions.
func readOpenAI(a *streamed, event []byte) (last bool, err error) {
	if string(event) == "[DONE]" {
		a.complete = true
		return true, nil
	}
	var chunk struct {
		Choices []struct {
			Index  int
			Delta  struct{ Content string }
			Finish string `json:"finish_reason"`
		}
		Usage json.RawMessage
	}
	if err := decodeEvent(event, &chunk); err != nil {
		return false, err
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.text.add(choice.Delta.Content); err != nil {
			return false, err
		}
		a.stop = cmp.Or(choice.Finish, a.stop)
		a.complete = a.complete || choice.Finish != ""
	}
	usage := struct {
		In  *int `json:"prompt_tokens"`
		Out *int `json:"completion_tokens"`
	}{&a.in, &a.out}
	_ = json.Unmarshal(chunk.Usage, &usage) // only counts; most chunks have none
	return false, nil
}

// readAnthropic reads an event of Anthropic's messages.
func readAnthropic(a *streamed, event []byte) (last bool, err error) {
	var e struct {
		Type    string
		Message struct {
			Usage struct {
				In    int `json:"input_tokens"`
				Read  int `json:"cache_read_input_tokens"`
				Wrote int `json:"cache_creation_input_tokens"`
			}
		}
		Delta struct {
			Text        string
			PartialJSON string `json:"partial_json"`
			Reason      string `json:"stop_reason"`
		}
		Usage struct {
			Out int `json:"output_tokens"`
		}
	}
	if err := decodeEvent(event, &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "message_start":
		a.in = e.Message.Usage.In + e.Message.Usage.Read + e.Message.Usage.Wrote
	case "content_block_delta":
		return false, cmp.Or(a.text.add(e.Delta.Text), a.input.add(e.Delta.PartialJSON))
	case "message_delta":
		a.stop, a.out = cmp.Or(e.Delta.Reason, a.stop), e.Usage.Out
	case "message_stop":
		a.complete = true
	case "error":
		return false, errors.New("an error event")
	}
	return a.complete, nil
}

// readOllama reads a line of Ollama's chat.
func readOllama(a *streamed, event []byte) (last bool, err error) {
	var line struct {
		Message struct{ Content string }
		Done    bool
		Reason  string `json:"done_reason"`
		In      int    `json:"prompt_eval_count"`
		Out     int    `json:"eval_count"`
	}
	if err := decodeEvent(event, &line); err != nil {
		return false, err
	}
	a.complete, a.stop, a.in, a.out = line.Done, line.Reason, line.In, line.Out
	return line.Done, a.text.add(line.Message.Content)
}
