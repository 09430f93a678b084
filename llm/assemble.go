package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxText limits the text of a streamed answer, in bytes. No job needs as much.
const maxText = 256 << 10

// streamed collects an answer from the events of a stream. The readEvent functions of the
// providers add an event, and report whether it is the last.
type streamed struct {
	text boundedText
	// input is the input of a tool. It is kept as text: the client would decode its
	// numbers as floating point.
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

// body gives the answer as if it had not been streamed. It has the fields of all
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
		return errors.New(shorten(message, maxMessage))
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
