package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tmc/langchaingo/llms"

	"parley/llm"
)

// eachProvider runs a test with a model of every provider, served by handler.
func eachProvider(t *testing.T, handler func(wire) http.HandlerFunc, test func(*testing.T, *llm.Model)) {
	t.Helper()
	for name, w := range wires {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := llm.Config{Spec: name + ":m", APIKey: key, BaseURL: w.serve(t, handler(w)) + w.base}
			model, err := llm.Open(t.Context(), cfg)
			if err != nil {
				t.Fatalf("Open: %v", err)
			}
			test(t, model)
		})
	}
}

func TestGenerateContent(t *testing.T) {
	t.Parallel()
	answers := func(w wire) http.HandlerFunc { return w.answers }
	eachProvider(t, answers, func(t *testing.T, model *llm.Model) {
		answer, err := model.GenerateContent(t.Context(), []llms.MessageContent{
			llms.TextParts(llms.ChatMessageTypeSystem, "Answer in one sentence."),
			llms.TextParts(llms.ChatMessageTypeHuman, question),
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.Choices) != 1 || answer.Choices[0].Content != reply {
			t.Errorf("choices = %+v, want %q", answer.Choices, reply)
		}
	})
}

func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	answers := func(w wire) http.HandlerFunc { return w.answers }
	eachProvider(t, answers, func(t *testing.T, model *llm.Model) {
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				if got, err := model.Call(t.Context(), question); err != nil || got != reply {
					t.Errorf("Call = %q, %v", got, err)
				}
			})
		}
		group.Wait()
	})
}

// hang sends some bytes and waits until the client disconnects.
func hang(start func(wire) string) func(wire) http.HandlerFunc {
	return func(w wire) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			if text := start(w); text != "" {
				fmt.Fprint(rw, text)
				_ = http.NewResponseController(rw).Flush()
			}
			<-r.Context().Done()
		}
	}
}

func TestContextIsHonoured(t *testing.T) {
	t.Parallel()
	starts := map[string]func(wire) string{
		"before the answer": func(wire) string { return "" },
		"within the answer": func(w wire) string { return w.answer[:len(w.answer)/3] },
	}
	for name, start := range starts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachProvider(t, hang(start), func(t *testing.T, model *llm.Model) {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				got, err := model.Call(ctx, question)
				if !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("Call = %q, %v, want a deadline error", got, err)
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	silent := func(wire) string { return "" }
	eachProvider(t, hang(silent), func(t *testing.T, model *llm.Model) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Millisecond, func() { cancel(errors.New("the run was given up")) })
		if got, err := model.Call(ctx, question); !errors.Is(err, context.Canceled) {
			t.Errorf("Call = %q, %v, want context.Canceled", got, err)
		}
	})
}

func TestToolCallIsAnAnswer(t *testing.T) {
	t.Parallel()
	w := wires["openai"]
	base := w.serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(rw, `{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"t1","type":"function",`+
			`"function":{"name":"look_up","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`)
	})
	model, err := llm.Open(t.Context(), llm.Config{Spec: "openai:m", APIKey: key, BaseURL: base + w.base})
	if err != nil {
		t.Fatal(err)
	}
	asked := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, question)}
	answer, err := model.GenerateContent(t.Context(), asked)
	if err != nil || len(answer.Choices[0].ToolCalls) != 1 {
		t.Errorf("GenerateContent = %+v, %v, want a tool call", answer, err)
	}
	if text, err := model.Call(t.Context(), question); !errors.Is(err, llm.ErrNoAnswer) {
		t.Errorf("Call = %q, %v, want ErrNoAnswer: there is no text", text, err)
	}
}

func TestUnaskableIsNoSilence(t *testing.T) {
	t.Parallel()
	untouched := func(wire) http.HandlerFunc {
		return func(http.ResponseWriter, *http.Request) { t.Error("the provider was asked") }
	}
	eachProvider(t, untouched, func(t *testing.T, model *llm.Model) {
		message := llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{llms.ToolCall{}}}
		answer, err := model.GenerateContent(t.Context(), []llms.MessageContent{message})
		if err == nil || errors.Is(err, llm.ErrNoAnswer) {
			t.Errorf("GenerateContent = %+v, %v, want an error that does not blame the model", answer, err)
		}
	})
}

func TestUnreachable(t *testing.T) {
	t.Parallel()
	for name := range wires {
		// Port 1 is reserved and closed.
		model, err := llm.Open(t.Context(), llm.Config{Spec: name + ":m", APIKey: key, BaseURL: "http://127.0.0.1:1"})
		if err != nil {
			t.Fatal(err)
		}
		_, err = model.Call(t.Context(), question)
		if err == nil || !strings.Contains(err.Error(), "ask model "+name+":m") || !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("Call = %v, want an error that says who was asked and why it failed", err)
		}
	}
}
