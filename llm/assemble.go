package llm

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
)

// assembler makes a whole answer of the events of a stream, in the form in which
// the provider would have sent it whole.
type assembler interface {
	// add takes an event. The end is reached when it says so.
	add(event []byte) (end bool, err error)
	// finished reports whether the provider has said that the answer is whole. A
	// stream that ends otherwise broke off.
	finished() bool
	// stop says why the model stopped writing, in the provider's words.
	stop() string
	// whole gives the answer.
	whole() []byte
}

// maxText bounds the text of a streamed answer, in bytes. No job wants as much.
const maxText = 256 << 10

// boundedText is text that must not grow for ever.
type boundedText struct{ strings.Builder }

func (g *boundedText) add(text string) error {
	if g.Len()+len(text) > maxText {
		return fmt.Errorf("%w: it does not come to an end", ErrNoAnswer)
	}
	g.WriteString(text)
	return nil
}

// eventError gives the error for an event that tells of one, nil for another.
func eventError(event []byte) error {
	if why := explanation(event); why != "" {
		return fmt.Errorf("%w: %s", errIncomplete, shorten(why, maxMessage))
	}
	return nil
}

func readEvent(event []byte, into any) error {
	if err := eventError(event); err != nil {
		return err
	}
	if err := json.Unmarshal(event, into); err != nil {
		return fmt.Errorf("%w: an event is not JSON", errIncomplete)
	}
	return nil
}

func encode(answer any) []byte {
	text, err := json.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("encode an answer: %v", err)) // only strings and numbers
	}
	return text
}

// openAIAnswer assembles the chunks of OpenAI's chat completions.
type openAIAnswer struct {
	text   boundedText
	reason string
	usage  struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	}
	done bool
}

func (a *openAIAnswer) add(event []byte) (bool, error) {
	if string(event) == "[DONE]" {
		a.done = true
		return true, nil
	}
	var chunk struct {
		Choices []struct {
			Index  int
			Delta  struct{ Content string }
			Finish string `json:"finish_reason"`
		}
		Usage *json.RawMessage
	}
	if err := readEvent(event, &chunk); err != nil {
		return false, err
	}
	for _, choice := range chunk.Choices {
		if choice.Index != 0 {
			continue
		}
		if err := a.text.add(choice.Delta.Content); err != nil {
			return false, err
		}
		if choice.Finish != "" {
			a.reason = choice.Finish
		}
	}
	if chunk.Usage != nil {
		_ = json.Unmarshal(*chunk.Usage, &a.usage) // counts only
	}
	return false, nil
}

func (a *openAIAnswer) finished() bool { return a.done || a.reason != "" }
func (a *openAIAnswer) stop() string   { return a.reason }

func (a *openAIAnswer) whole() []byte {
	return encode(map[string]any{
		"choices": []any{map[string]any{
			"message":       map[string]any{"role": "assistant", "content": a.text.String()},
			"finish_reason": a.reason,
		}},
		"usage": a.usage,
	})
}

// anthropicAnswer assembles the events of Anthropic's messages. What is meant for
// a tool is given as text: the client would read its numbers as floating point.
type anthropicAnswer struct {
	text, input boundedText
	reason      string
	in, out     int
	done        bool
}

func (a *anthropicAnswer) add(event []byte) (bool, error) {
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
			Text, Type  string
			PartialJSON string `json:"partial_json"`
			Reason      string `json:"stop_reason"`
		}
		Usage struct {
			Out int `json:"output_tokens"`
		}
	}
	if err := readEvent(event, &e); err != nil {
		return false, err
	}
	switch e.Type {
	case "message_start":
		a.in = e.Message.Usage.In + e.Message.Usage.Read + e.Message.Usage.Wrote
	case "content_block_delta":
		if err := a.text.add(e.Delta.Text); err != nil {
			return false, err
		}
		return false, a.input.add(e.Delta.PartialJSON)
	case "message_delta":
		a.reason, a.out = cmp.Or(e.Delta.Reason, a.reason), e.Usage.Out
	case "message_stop":
		a.done = true
	case "error":
		return false, errIncomplete
	}
	return a.done, nil
}

func (a *anthropicAnswer) finished() bool { return a.done }
func (a *anthropicAnswer) stop() string   { return a.reason }

func (a *anthropicAnswer) whole() []byte {
	text := a.input.String()
	if text == "" {
		text = a.text.String()
	}
	content := []any{}
	if text != "" {
		content = append(content, map[string]any{"type": "text", "text": text})
	}
	return encode(map[string]any{
		"type": "message", "role": "assistant", "content": content, "stop_reason": a.reason,
		"usage": map[string]any{"input_tokens": a.in, "output_tokens": a.out},
	})
}

// ollamaAnswer assembles the lines of Ollama's chat.
type ollamaAnswer struct {
	text    boundedText
	reason  string
	in, out int
	done    bool
}

func (a *ollamaAnswer) add(event []byte) (bool, error) {
	var line struct {
		Message struct{ Content string }
		Done    bool
		Reason  string `json:"done_reason"`
		In      int    `json:"prompt_eval_count"`
		Out     int    `json:"eval_count"`
	}
	if err := readEvent(event, &line); err != nil {
		return false, err
	}
	if err := a.text.add(line.Message.Content); err != nil {
		return false, err
	}
	if line.Done {
		a.done, a.reason, a.in, a.out = true, line.Reason, line.In, line.Out
	}
	return line.Done, nil
}

func (a *ollamaAnswer) finished() bool { return a.done }
func (a *ollamaAnswer) stop() string   { return a.reason }

func (a *ollamaAnswer) whole() []byte {
	return encode(map[string]any{
		"message": map[string]any{"role": "assistant", "content": a.text.String()},
		"done":    true, "prompt_eval_count": a.in, "eval_count": a.out,
	})
}
