package llm_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/tmc/langchaingo/llms"

	"parley/llm"
)

func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		code    int
		body    func(wire) string
		message string
	}{
		{"key quoted", 401, func(w wire) string { return fmt.Sprintf(w.refusal, "bad key "+key) }, ""},
		{"key quoted in part", 401, func(w wire) string { return fmt.Sprintf(w.refusal, "bad key sk-***cdef") }, ""},
		{"no body", 401, func(wire) string { return "" }, ""},
		{"forbidden", 403, func(w wire) string { return fmt.Sprintf(w.refusal, "not this model") }, "not this model"},
		{"key quoted elsewhere", 400, func(w wire) string { return fmt.Sprintf(w.refusal, "bad "+key) }, ""},
		{"key where the message is cut", 400, func(w wire) string {
			return fmt.Sprintf(w.refusal, strings.Repeat("x", 290)+key)
		}, ""},
		{"long message", 400, func(w wire) string { return fmt.Sprintf(w.refusal, strings.Repeat("ø", 400)) },
			strings.Repeat("ø", 148) + "…"},
		{"busy", 429, func(w wire) string { return fmt.Sprintf(w.refusal, "slow down") }, "slow down"},
		{"a proxy's page", 502, func(wire) string { return "<html>Bad gateway " + key + "</html>" }, ""},
		{"odd error", 500, func(wire) string { return `{"error":[1,2]}` }, ""},
		{"redirect", 307, func(wire) string { return "" }, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			refuse := func(w wire) http.HandlerFunc {
				return func(rw http.ResponseWriter, r *http.Request) {
					if tc.code == http.StatusTemporaryRedirect {
						rw.Header().Set("Location", r.URL.Path+"/elsewhere")
					}
					rw.WriteHeader(tc.code)
					fmt.Fprint(rw, tc.body(w))
				}
			}
			eachProvider(t, refuse, func(t *testing.T, model *llm.Model) {
				got, err := model.Call(t.Context(), question)
				var status *llm.StatusError
				if !errors.As(err, &status) {
					t.Fatalf("Call = %q, %v, want a StatusError", got, err)
				}
				want := llm.StatusError{Provider: model.Spec().Provider, Code: tc.code, Message: tc.message}
				if *status != want {
					t.Errorf("refusal = %+v, want %+v", *status, want)
				}
				checkError(t, err)
			})
		})
	}
}

func TestGarbage(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]func(wire) string{
		"nothing":        func(wire) string { return "" },
		"not JSON":       func(wire) string { return "<html>hello</html>" },
		"the key":        func(wire) string { return key },
		"another object": func(wire) string { return `{"hello":"world"}` },
		"an array":       func(wire) string { return `[1,2,3]` },
		"null":           func(wire) string { return `null` },
		"null within":    func(wire) string { return `{"choices":[null],"content":[null],"message":null,"done":true}` },
		"cut off":        func(w wire) string { return w.answer[:len(w.answer)/3] },
		"no text":        func(w wire) string { return w.empty },
		"odd content":    func(wire) string { return `{"content":[{"type":"` + key + `"}],"error":"` + key + `"}` },
		"odd and long":   func(wire) string { return `{"content":[{"type":"` + strings.Repeat("x", 9000) + `"}]}` },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			talk := func(w wire) http.HandlerFunc {
				return func(rw http.ResponseWriter, _ *http.Request) { fmt.Fprint(rw, body(w)) }
			}
			eachProvider(t, talk, func(t *testing.T, model *llm.Model) {
				got, err := model.Call(t.Context(), question)
				if !errors.Is(err, llm.ErrNoAnswer) {
					t.Fatalf("Call = %q, %v, want ErrNoAnswer", got, err)
				}
				checkError(t, err)
			})
		})
	}
}

func TestNotHTTP(t *testing.T) {
	t.Parallel()
	babble := func(wire) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(rw).Hijack()
			if err != nil {
				t.Errorf("hijack: %v", err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "%s\r\n\r\n", key)
		}
	}
	eachProvider(t, babble, func(t *testing.T, model *llm.Model) {
		got, err := model.Call(t.Context(), question)
		if err == nil {
			t.Fatalf("Call = %q, want an error", got)
		}
		checkError(t, err)
	})
}

func TestSilenceIsNoAnswer(t *testing.T) {
	t.Parallel()
	silent := func(w wire) http.HandlerFunc {
		return func(rw http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(rw, strings.Replace(w.answer, "%q", `" \n"`, 1))
		}
	}
	eachProvider(t, silent, func(t *testing.T, model *llm.Model) {
		asked := []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, question)}
		if got, err := model.GenerateContent(t.Context(), asked); !errors.Is(err, llm.ErrNoAnswer) {
			t.Errorf("GenerateContent = %+v, %v, want ErrNoAnswer", got, err)
		}
	})
}

func TestEndlessAnswerEnds(t *testing.T) {
	t.Parallel()
	endless := func(w wire) http.HandlerFunc {
		return func(rw http.ResponseWriter, r *http.Request) {
			start, _, _ := strings.Cut(w.answer, "%q")
			fmt.Fprint(rw, start, `"`)
			block := []byte(strings.Repeat("a", 1<<16))
			for r.Context().Err() == nil {
				if _, err := rw.Write(block); err != nil {
					return
				}
			}
		}
	}
	eachProvider(t, endless, func(t *testing.T, model *llm.Model) {
		if _, err := model.Call(t.Context(), question); !errors.Is(err, llm.ErrNoAnswer) {
			t.Errorf("Call gave %v, want ErrNoAnswer", err)
		} else {
			checkError(t, err)
		}
	})
}

// A short key is a placeholder: messages that contain its letters are not redacted.
func TestPlaceholderKeyHidesNothing(t *testing.T) {
	t.Parallel()
	w := wires["openai"]
	w.header = ""
	base := w.serve(t, func(rw http.ResponseWriter, _ *http.Request) {
		rw.WriteHeader(http.StatusNotFound)
		fmt.Fprintf(rw, w.refusal, "no such model: x")
	})
	model, err := llm.Open(t.Context(), llm.Config{Spec: "openai:m", APIKey: "x", BaseURL: base + w.base})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Call(t.Context(), question)
	if want := "ask model openai:m: openai answered 404 Not Found: no such model: x"; err == nil || err.Error() != want {
		t.Errorf("Call = %v, want %q", err, want)
	}
}

// checkError checks that an error has no key and is short.
func checkError(t *testing.T, err error) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, key) || strings.Contains(text, "cdef") {
		t.Errorf("%q repeats the key", text)
	} else if len(text) > 600 {
		t.Errorf("%d bytes of error text", len(text))
	}
}
