package serve

import (
	"cmp"
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"parley/cmd/parley/internal/command"
	"parley/llm"
	"parley/llm/reader"
	"parley/rest"
)

// ModelSettings name the language models.
type ModelSettings struct {
	LLM            string `name:"llm" placeholder:"LIST" help:"Language models (openai:MODEL, anthropic:MODEL, ollama:MODEL, googleai:MODEL), separated by commas; the first is the default. Their keys and addresses are in the providers' variables, such as OPENAI_API_KEY. Without a model, the built-in reader answers."`
	LLMTimeout     string `name:"llm-timeout" default:"2m" placeholder:"DURATION" help:"How long one call of a language model may take (${default})."`
	LLMConcurrency string `name:"llm-concurrency" default:"8" placeholder:"N" help:"How many calls of one language model run at once (${default})."`
	ReaderFirst    bool   `name:"reader-first" help:"Answer without a call of a language model if the built-in reader is sure."`
}

// modelConfig is ModelSettings, parsed.
type modelConfig struct {
	models      []*llm.Model
	timeout     time.Duration
	concurrency int
	readerFirst bool
}

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

// Check checks the settings.
func (s ModelSettings) Check(c *command.Checker) { s.read(c) }

func (s ModelSettings) read(c *command.Checker) modelConfig {
	cfg := modelConfig{
		timeout:     c.Duration("llm-timeout", s.LLMTimeout),
		concurrency: c.Count("llm-concurrency", s.LLMConcurrency),
		readerFirst: s.ReaderFirst,
	}
	seen := map[llm.Spec]bool{}
	for _, text := range list(s.LLM) {
		spec, err := llm.ParseSpec(text)
		switch {
		case err != nil:
			c.Refuse("llm", "names models as provider:model, but %v", err)
		case seen[spec]:
			c.Refuse("llm", "names %s twice", spec)
		default:
			seen[spec] = true
			if model := openModel(c, spec); model != nil {
				cfg.models = append(cfg.models, model)
			}
		}
	}
	return cfg
}

// openModel opens a model, which sends no request, to check its variables.
func openModel(c *command.Checker, spec llm.Spec) *llm.Model {
	variables := modelVariables[spec.Provider]
	key, base := firstSet(variables.keys), firstSet(variables.base)
	if spec.Provider == "openai" && base != "" {
		// Other servers of OpenAI's interface need no key, but the client sends one.
		key = cmp.Or(key, "none")
	}
	model, err := llm.Open(context.Background(), llm.Config{Spec: spec.String(), APIKey: key, BaseURL: base})
	switch {
	case errors.Is(err, llm.ErrNoKey):
		c.Refuse("llm", "names %s, which needs %s", spec, strings.Join(variables.keys, " or "))
	case err != nil && base != "":
		c.Refuse("llm", "names %s, but %s is wrong: %v", spec, strings.Join(variables.base, " or "), err)
	case err != nil:
		c.Refuse("llm", "names %s: %v", spec, err)
	}
	return model
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
func openModels(ctx context.Context, cfg modelConfig, observe func(llm.JobDone)) (*llm.Models, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	models, builtIn := &llm.Models{}, reader.New()
	chat := llm.ChatConfig{
		Timeout: cfg.timeout, Idle: min(cfg.timeout, maxIdle), Concurrency: cfg.concurrency,
		Catalog: builtIn.Catalog(), Observe: observe,
	}
	for _, model := range cfg.models {
		called := llm.NewChat(model, chat)
		var jobs llm.Jobs = called
		if cfg.readerFirst {
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
