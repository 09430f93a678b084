package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/llm"
)

func TestOpenNeedsKey(t *testing.T) {
	t.Parallel()
	for spec, needs := range map[string]bool{"openai:m": true, "anthropic:m": true, "ollama:m": false} {
		for _, empty := range []string{"", " \n"} {
			_, err := llm.Open(t.Context(), llm.Config{Spec: spec, APIKey: empty})
			if got := errors.Is(err, llm.ErrNoKey); got != needs || (err != nil) != needs {
				t.Errorf("Open(%s) with key %q: %v, want ErrNoKey: %v", spec, empty, err, needs)
			}
			if needs && !strings.Contains(err.Error(), spec) {
				t.Errorf("%q does not name the model", err)
			}
		}
	}
}

func TestOpenRefusesSpec(t *testing.T) {
	t.Parallel()
	_, err := llm.Open(t.Context(), llm.Config{Spec: "mystery:m", APIKey: key})
	if err == nil || !strings.Contains(err.Error(), "anthropic, googleai, ollama or openai") {
		t.Errorf("Open = %v, want an error that lists the providers", err)
	}
}

func TestOpenRefusesBaseURL(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"ftp://host", "https://", "https:///v1", "http://user:hunter22@host", "http://host?key=hunter22",
		"http://host#hunter22", "http://host:port-hunter22", "http://ho st",
	} {
		for _, spec := range []string{"openai:m", "anthropic:m", "ollama:m"} {
			_, err := llm.Open(t.Context(), llm.Config{Spec: spec, APIKey: key, BaseURL: base})
			if err == nil || !strings.Contains(err.Error(), "base URL") {
				t.Errorf("Open(%s) at %q: %v, want an error about the base URL", spec, base, err)
			} else if strings.Contains(err.Error(), "hunter22") {
				t.Errorf("%q repeats a secret", err)
			}
		}
	}
}

func TestOpenEndedContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := llm.Open(ctx, llm.Config{Spec: "ollama:m"}); !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want context.Canceled", err)
	}
}

func TestPrintedModelHidesKey(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{"openai:m", "anthropic:m", "ollama:m"} {
		model, err := llm.Open(t.Context(), llm.Config{Spec: spec, APIKey: key})
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%v", model); got != spec {
			t.Errorf("printed as %q, want %q", got, spec)
		}
		if got := model.Spec().String(); got != spec {
			t.Errorf("Spec() = %q, want %q", got, spec)
		}
	}
}

func TestBaseURLForms(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ provider, given, want string }{
		{"openai", "/v1", "/v1"},
		{"openai", "/v1/", "/v1"},
		{"openai", "/proxy", "/proxy"},
		{"anthropic", "", "/v1"},
		{"anthropic", "/v1/", "/v1"},
		{"anthropic", "/proxy/", "/proxy/v1"},
		{"ollama", "/", ""},
		{"ollama", "/proxy", "/proxy"},
	} {
		t.Run(tc.provider+tc.given, func(t *testing.T) {
			t.Parallel()
			w := wires[tc.provider]
			w.base = tc.want
			ask(t, llm.Config{Spec: tc.provider + ":m", APIKey: key, BaseURL: w.serve(t, w.answers) + tc.given})
		})
	}
}

func TestOllamaBareHost(t *testing.T) {
	t.Parallel()
	w := wires["ollama"]
	ask(t, llm.Config{Spec: "ollama:m", APIKey: key, BaseURL: strings.TrimPrefix(w.serve(t, w.answers), "http://")})

	for _, host := range []string{"localhost", "localhost/", "::1", "[::1]", "0.0.0.0:11434"} {
		if _, err := llm.Open(t.Context(), llm.Config{Spec: "ollama:m", BaseURL: host}); err != nil {
			t.Errorf("Open at %q: %v", host, err)
		}
	}
}

func TestOllamaWithoutKey(t *testing.T) {
	t.Parallel()
	w := wires["ollama"]
	w.header = ""
	ask(t, llm.Config{Spec: "ollama:m", BaseURL: w.serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if sent, ok := r.Header["Authorization"]; ok {
			t.Errorf("Authorization = %q, want none", sent)
		}
		w.answers(rw, r)
	})})
}

// Only cmd reads settings: a variable for another program must not redirect a request or
// add a key.
func TestEnvironmentIsIgnored(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_MODEL"} {
		t.Setenv(name, "from-the-environment")
	}
	for _, name := range []string{"OPENAI_BASE_URL", "OPENAI_API_BASE", "OLLAMA_HOST"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	for _, spec := range []string{"openai:m", "anthropic:m"} {
		if _, err := llm.Open(t.Context(), llm.Config{Spec: spec}); !errors.Is(err, llm.ErrNoKey) {
			t.Errorf("Open(%s) = %v, want ErrNoKey", spec, err)
		}
	}
	for name, w := range wires {
		base := w.serve(t, func(rw http.ResponseWriter, r *http.Request) {
			if sent, ok := r.Header["Openai-Organization"]; ok {
				t.Errorf("organization %q was sent", sent)
			}
			w.answers(rw, r)
		})
		ask(t, llm.Config{Spec: name + ":m", APIKey: key, BaseURL: base + w.base})
	}
}
