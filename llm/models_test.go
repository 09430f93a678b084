package llm_test

import (
	"errors"
	"slices"
	"testing"

	"parley/llm"
)

// doer is a named Jobs.
type doer struct {
	llm.Jobs
	name string
}

func TestModels(t *testing.T) {
	t.Parallel()
	var models llm.Models
	for _, spec := range []llm.Spec{{Provider: "openai", Model: "big"}, {Provider: "ollama", Model: "llama3.2:3b"}, {Provider: "openai", Model: "small"}, {Provider: "reader"}} {
		if err := models.Add(spec, &doer{name: spec.String()}); err != nil {
			t.Fatal(err)
		}
	}
	if err := models.Add(llm.Spec{Provider: "reader"}, &doer{}); err == nil {
		t.Error("a name can be taken twice")
	}
	if want := []string{"openai:big", "ollama:llama3.2:3b", "openai:small", "reader"}; !slices.Equal(models.Names(), want) {
		t.Errorf("names %q, want %q", models.Names(), want)
	}
	for _, test := range []struct{ provider, model, want string }{
		{"", "", "openai:big"},
		{"openai", "", "openai:big"},
		{"OpenAI", "small", "openai:small"},
		{"", "small", "openai:small"},
		{"ollama", "", "ollama:llama3.2:3b"},
		{"", "ollama:llama3.2:3b", "ollama:llama3.2:3b"},
		{"openai", "openai:small", "openai:small"},
		{"reader", "", "reader:"},
		{"", "reader", "reader:"},
	} {
		jobs, err := models.Jobs(test.provider, test.model)
		if err != nil {
			t.Errorf("Jobs(%q, %q): %v", test.provider, test.model, err)
		} else if got := jobs.(*doer).name; got != test.want {
			t.Errorf("Jobs(%q, %q) = %s, want %s", test.provider, test.model, got, test.want)
		}
	}
	for _, test := range []struct{ provider, model, want string }{
		{"anthropic", "", `model "anthropic" is not set here; there is openai:big, ollama:llama3.2:3b, openai:small, reader`},
		{"ollama", "big", `model "ollama:big" is not set here; there is openai:big, ollama:llama3.2:3b, openai:small, reader`},
		{"", "huge", `model "huge" is not set here; there is openai:big, ollama:llama3.2:3b, openai:small, reader`},
	} {
		_, err := models.Jobs(test.provider, test.model)
		var unknown *llm.UnknownModelError
		if !errors.As(err, &unknown) || err.Error() != test.want {
			t.Errorf("Jobs(%q, %q): %v, want %s", test.provider, test.model, err, test.want)
		}
	}
}

func TestNoModels(t *testing.T) {
	t.Parallel()
	var models llm.Models
	var unknown *llm.UnknownModelError
	if _, err := models.Jobs("", ""); !errors.As(err, &unknown) {
		t.Errorf("Jobs = %v", err)
	}
}
