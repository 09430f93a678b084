package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"parley/cmd/parley/internal/command"
	"parley/llm"
	"parley/llm/reader"
)

// readModels reads settings with the providers' variables as given, the others
// empty.
func readModels(t *testing.T, variables map[string]string, args ...string) (ModelSettings, error) {
	t.Helper()
	for _, name := range []string{
		"OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "OLLAMA_HOST", "GOOGLE_API_KEY", "GEMINI_API_KEY",
		"PARLEY_LLM", "PARLEY_LLM_TIMEOUT", "PARLEY_LLM_CONCURRENCY",
	} {
		t.Setenv(name, variables[name])
		if variables[name] == "" && strings.HasPrefix(name, "PARLEY_") {
			t.Setenv(name, map[string]string{"PARLEY_LLM_TIMEOUT": "2m", "PARLEY_LLM_CONCURRENCY": "8"}[name])
		}
	}
	var settings ModelSettings
	var flags command.Flags
	parser, err := kong.New(&settings, &flags, kong.DefaultEnvars("PARLEY"))
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		t.Fatal(err)
	}
	c := command.Env{Model: parser.Model, Problems: flags.Problems(parsed)}.NewChecker()
	settings.Check(c)
	return settings, c.Err()
}

func TestModelSettings(t *testing.T) {
	for _, test := range []struct {
		name      string
		variables map[string]string
		want      []string
	}{
		{"none", nil, []string{"reader"}},
		{"one", map[string]string{"PARLEY_LLM": "ollama:llama3.2:3b"}, []string{"ollama:llama3.2:3b", "reader"}},
		{"several", map[string]string{
			"PARLEY_LLM": "anthropic:claude, openai:gpt-x,openai:gpt-y ,googleai:gemini", "OPENAI_API_KEY": "sk-1234567890",
			"ANTHROPIC_API_KEY": "sk-1234567890", "GEMINI_API_KEY": "g-1234567890",
		}, []string{"anthropic:claude", "openai:gpt-x", "openai:gpt-y", "googleai:gemini", "reader"}},
		{"a server at home", map[string]string{"PARLEY_LLM": "openai:local", "OPENAI_BASE_URL": "http://127.0.0.1:8000/v1"}, []string{"openai:local", "reader"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			cfg, err := readModels(t, test.variables)
			if err != nil {
				t.Fatal(err)
			}
			models, err := openModels(t.Context(), cfg, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := models.Names(); !slices.Equal(got, test.want) {
				t.Errorf("models %q, want %q", got, test.want)
			}
			jobs, err := models.Jobs("", "")
			chat, ok := jobs.(*llm.Chat)
			if err != nil || ok != (test.want[0] != "reader") || ok && chat.Spec().String() != test.want[0] {
				t.Errorf("the default is %v, %v", jobs, err)
			}
		})
	}
}

func TestReaderFirstSetting(t *testing.T) {
	cfg, err := readModels(t, map[string]string{"PARLEY_LLM": "ollama:llama3.2:3b"}, "--reader-first")
	if err != nil {
		t.Fatal(err)
	}
	models, err := openModels(t.Context(), cfg, nil)
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := models.Jobs("", "")
	if _, ok := jobs.(*reader.First); !ok || err != nil {
		t.Errorf("the default is %T, %v", jobs, err)
	}
}

func TestWrongModelSettings(t *testing.T) {
	_, err := readModels(t, map[string]string{
		"PARLEY_LLM": "gpt-4,mystery:x,openai:a,anthropic:b,googleai:c,ollama:d,ollama:d", "OLLAMA_HOST": "http://user:hunter2@host",
		"PARLEY_LLM_TIMEOUT": "long", "PARLEY_LLM_CONCURRENCY": "0",
	})
	var wrong command.UsageError
	if !errors.As(err, &wrong) {
		t.Fatal(err)
	}
	for _, want := range []string{
		`--llm (PARLEY_LLM) names models as provider:model, but model "gpt-4" has no provider`, `unknown provider "mystery"`,
		"names openai:a, which needs OPENAI_API_KEY", "names anthropic:b, which needs ANTHROPIC_API_KEY",
		"names googleai:c, which needs GOOGLE_API_KEY or GEMINI_API_KEY", "names ollama:d, but OLLAMA_HOST is wrong", "names ollama:d twice",
		"--llm-timeout (PARLEY_LLM_TIMEOUT)", "--llm-concurrency (PARLEY_LLM_CONCURRENCY)",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in:\n%v", want, err)
		}
	}
	if len(wrong) != 9 || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("%d problems:\n%v", len(wrong), err)
	}
}
