package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/llm"
	"parley/llm/reader"
	"parley/rest"
)

// modelVariables are the providers' own variables for keys and URLs. The first that is
// set counts.
var modelVariables = map[string]struct{ keys, base []string }{
	"openai":    {keys: []string{"OPENAI_API_KEY"}, base: []string{"OPENAI_BASE_URL"}},
	"anthropic": {keys: []string{"ANTHROPIC_API_KEY"}, base: []string{"ANTHROPIC_BASE_URL"}},
	"ollama":    {base: []string{"OLLAMA_HOST"}},
	"googleai":  {keys: []string{"GOOGLE_API_KEY", "GEMINI_API_KEY"}},
}

// maxIdle is how long a model may pause within an answer.
const maxIdle = time.Minute

// Check adds the problems with the settings.
func (s ModelSettings) Check(c *command.Checker) {
	seen := map[llm.Spec]bool{}
	for _, text := range s.LLM {
		spec, err := llm.ParseSpec(text)
		if err == nil && seen[spec] {
			c.Refuse("llm", "names %s twice", spec)
			continue
		}
		seen[spec] = true
		if _, err := openModel(text); err != nil {
			c.Refuse("llm", "%v", err)
		}
	}
}

// openModel opens a model, with the variables of its provider. It sends no request.
func openModel(text string) (*llm.Model, error) {
	spec, err := llm.ParseSpec(text)
	if err != nil {
		return nil, fmt.Errorf("names models as provider:model, but %w", err)
	}
	variables := modelVariables[spec.Provider]
	key, base := firstSet(variables.keys), firstSet(variables.base)
	if spec.Provider == "openai" && base != "" {
		// Other servers of OpenAI's interface need no key, but the client sends one.
		key = cmp.Or(key, "none")
	}
	model, err := llm.Open(context.Background(), llm.Config{Spec: spec.String(), APIKey: key, BaseURL: base})
	switch {
	case errors.Is(err, llm.ErrNoKey):
		return nil, fmt.Errorf("names %s, which needs %s", spec, strings.Join(variables.keys, " or "))
	case err != nil && base != "":
		return nil, fmt.Errorf("names %s, but %s is wrong: %w", spec, strings.Join(variables.base, " or "), err)
	case err != nil:
		return nil, fmt.Errorf("names %s: %w", spec, err)
	}
	return model, nil
}

// firstSet returns the value of the first variable that is set.
func firstSet(variables []string) string {
	for _, name := range variables {
		if value := strings.TrimSpace(os.Getenv(name)); value != "" {
			return value
		}
	}
	return ""
}

// openModels returns the configured models, the first of them the default, and the
// built-in reader. They share one catalog of datasets. observe is called for each job.
func openModels(ctx context.Context, cfg ModelSettings, observe func(llm.JobDone)) (*llm.Models, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	models, builtIn := &llm.Models{}, reader.New()
	chat := llm.ChatConfig{
		Timeout: cfg.LLMTimeout, Idle: min(cfg.LLMTimeout, maxIdle), Concurrency: cfg.LLMConcurrency,
		Facts: builtIn.Facts, Observe: observe,
	}
	for _, text := range cfg.LLM {
		model, err := openModel(text)
		if err != nil {
			return nil, err
		}
		called := llm.NewChat(model, chat)
		var jobs llm.Jobs = called
		if cfg.ReaderFirst {
			jobs = reader.NewFirst(builtIn, called)
		}
		if err := models.Add(model.Spec(), jobs); err != nil {
			return nil, err
		}
	}
	return models, models.Add(llm.Spec{Provider: builtInProvider}, builtIn)
}

// builtInProvider is the provider of the built-in reader.
const builtInProvider = "reader"

func modelsOf(models *llm.Models) []rest.Model {
	var all []rest.Model
	for _, name := range models.Names() {
		all = append(all, rest.Model{Name: name, BuiltIn: name == builtInProvider})
	}
	return all
}
