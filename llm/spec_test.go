package llm_test

import (
	"strings"
	"testing"

	"parley/llm"
)

func TestParseSpec(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]llm.Spec{
		"openai:gpt-4.1":         {Provider: "openai", Model: "gpt-4.1"},
		"anthropic:claude-x":     {Provider: "anthropic", Model: "claude-x"},
		"ollama:llama3.2:3b":     {Provider: "ollama", Model: "llama3.2:3b"},
		"openai:org/model@rev-1": {Provider: "openai", Model: "org/model@rev-1"},
		"  openai:gpt-4.1\n":     {Provider: "openai", Model: "gpt-4.1"},
	} {
		got, err := llm.ParseSpec(text)
		if err != nil || got != want {
			t.Errorf("ParseSpec(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
}

func TestParseSpecRefuses(t *testing.T) {
	t.Parallel()
	providers := "anthropic, googleai, ollama or openai"
	for text, want := range map[string]string{
		"":                 providers,
		"gpt-4.1":          providers,
		"mystery:model":    `unknown provider "mystery": known are ` + providers,
		"OpenAI:gpt-4.1":   providers,
		":gpt-4.1":         providers,
		"openai :gpt-4.1":  providers,
		"openai:":          "write openai:model",
		"openai: ":         "write openai:model",
		"openai:two words": "a space",
		"openai:tab\tbed":  "a space",
		"openai:bell\abed": "unprintable",
		"openai:bad\xffed": "unprintable",
	} {
		got, err := llm.ParseSpec(text)
		if err == nil {
			t.Errorf("ParseSpec(%q) = %+v, want an error", text, got)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("ParseSpec(%q): %q does not say %q", text, err, want)
		}
	}
}

func TestProvidersAreSorted(t *testing.T) {
	t.Parallel()
	if got := llm.ProviderNames(); got != "anthropic, googleai, ollama or openai" {
		t.Errorf("ProviderNames() = %q", got)
	}
}

func FuzzParseSpec(f *testing.F) {
	for _, seed := range []string{"openai:gpt-4.1", "ollama:llama3.2:3b", " anthropic: x", "::", "openai:\u00a0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		spec, err := llm.ParseSpec(text)
		if err != nil {
			if spec != (llm.Spec{}) {
				t.Errorf("ParseSpec(%q) = %+v beside %v", text, spec, err)
			}
			return
		}
		if again, err := llm.ParseSpec(spec.String()); err != nil || again != spec {
			t.Errorf("ParseSpec(%q) = %+v, read again %+v, %v", text, spec, again, err)
		}
	})
}
