package llm

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tmc/langchaingo/llms"
)

// Spec names a model and its provider.
type Spec struct {
	// Provider is one that [ParseSpec] accepts, or "reader".
	Provider, Model string
}

// String returns the form that [ParseSpec] reads.
func (s Spec) String() string { return s.Provider + ":" + s.Model }

// ParseSpec reads "provider:model". The model may have colons too. Space around the whole
// is dropped. The error for an unknown or missing provider lists the known ones.
func ParseSpec(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, model, found := strings.Cut(text, ":")
	if !found {
		return Spec{}, fmt.Errorf("model %q has no provider: write provider:model, the provider being %s", text, providerNames())
	}
	if _, ok := lookup(name); !ok {
		return Spec{}, fmt.Errorf("model %q has an unknown provider %q: known are %s", text, name, providerNames())
	}
	if model == "" {
		return Spec{}, fmt.Errorf("model %q has no name after its provider: write %s:model", text, name)
	}
	invalid := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if !utf8.ValidString(model) || strings.ContainsFunc(model, invalid) {
		return Spec{}, fmt.Errorf("model %q has a space or an unprintable character in its name", text)
	}
	return Spec{Provider: name, Model: model}, nil
}

// providerNames returns the known providers as text: a, b or c.
func providerNames() string {
	var names []string
	for _, p := range providers {
		names = append(names, p.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// Model is an open chat model. It is safe for concurrent use.
type Model struct {
	chat      llms.Model
	spec      Spec
	key       string
	maxTokens int
}

// Config says which model to open and how to reach it.
type Config struct {
	// Spec names the model as provider:model; see [ParseSpec].
	Spec string
	// APIKey is optional for Ollama, which gets it as a bearer token. A server with
	// OpenAI's interface that needs no key takes any text.
	APIKey string
	// BaseURL is the provider's address; "" for its public one (for Ollama, on this
	// machine). It has the form of the provider's own clients: with /v1 for OpenAI, with or
	// without it for Anthropic, a URL or host:port for Ollama.
	BaseURL string
}

// connections are used by all models, and closed by nobody else.
var connections = http.DefaultTransport.(*http.Transport).Clone()

// Open prepares a model. It checks cfg, and calls nobody: a wrong key or an unknown model
// is reported by the first call. The error is [ErrNoKey] when the provider needs a key and
// cfg has none. ctx limits the opening, not later calls.
func Open(ctx context.Context, cfg Config) (*Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	spec, err := ParseSpec(cfg.Spec)
	if err != nil {
		return nil, fmt.Errorf("open model: %w", err)
	}
	p, _ := lookup(spec.Provider)
	key := strings.TrimSpace(cfg.APIKey)
	if key == "" && p.needsKey {
		return nil, fmt.Errorf("open model %s: %w: %s needs one", spec, ErrNoKey, p.name)
	}
	base, err := p.baseURL(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", spec, err)
	}
	chat, err := p.open(spec.Model, key, base, &http.Client{Transport: &transport{provider: p, key: key, next: connections}})
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", spec, redact(err, key))
	}
	return &Model{chat: chat, spec: spec, key: key, maxTokens: p.maxTokens}, nil
}

// Spec returns the name by which the model was opened.
func (m *Model) Spec() Spec { return m.spec }

// String returns the name, so that a printed model does not show its key.
func (m *Model) String() string { return m.spec.String() }

// generate calls the model. The answer has text or a tool call in at least one choice.
//
// When ctx ends first, the error wraps ctx.Err(). When the provider refuses, it wraps a
// [StatusError]; when it accepts and sends nothing useful, [ErrNoAnswer].
func (m *Model) generate(ctx context.Context, x *exchange, messages []llms.MessageContent) (*llms.ContentResponse, error) {
	answer, err := m.callClient(context.WithValue(ctx, exchangeKey{}, x), messages)
	switch {
	case ctx.Err() != nil:
		// The libraries hide a deadline, or end at it without an error.
		err = ctx.Err()
	case x.err != nil:
		err = x.err
	case err != nil && x.accepted:
		err = fmt.Errorf("%w: %w", ErrNoAnswer, redact(err, m.key))
	case err == nil && !hasContent(answer):
		err = ErrNoAnswer
	}
	if err != nil {
		return nil, fmt.Errorf("ask model %s: %w", m.spec, err)
	}
	return answer, nil
}

// callClient turns a panic into an error: the libraries panic on some unexpected answers,
// and a provider must not be able to end the process.
func (m *Model) callClient(ctx context.Context, messages []llms.MessageContent) (answer *llms.ContentResponse, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			answer, err = nil, fmt.Errorf("panic in the provider's client: %v", cause)
		}
	}()
	return m.chat.GenerateContent(ctx, messages, llms.WithMaxTokens(m.maxTokens))
}

func hasContent(answer *llms.ContentResponse) bool {
	return answer != nil && slices.ContainsFunc(answer.Choices, func(choice *llms.ContentChoice) bool {
		return strings.TrimSpace(choice.Content) != "" || len(choice.ToolCalls) > 0
	})
}

// Models has the configured models by name. After the last Add, it is safe for concurrent
// use.
type Models struct{ all []named }

type named struct {
	spec Spec
	jobs Jobs
}

// UnknownModelError says that a request names a model that is not configured. Its text is
// for the user.
type UnknownModelError struct {
	// Provider and Model are those of the request; either may be "".
	Provider, Model string
	// Set has the configured models.
	Set []string
}

func (e *UnknownModelError) Error() string {
	requested := strings.Trim(e.Provider+":"+e.Model, ":")
	if len(e.Set) == 0 {
		return fmt.Sprintf("model %q is not set here; none is", shorten(requested, 100))
	}
	return fmt.Sprintf("model %q is not set here; there is %s", shorten(requested, 100), strings.Join(e.Set, ", "))
}

// Add adds a model. The first one is the default. A provider of one model, such as the
// reader, may leave the model's name empty. It fails when the name is taken.
func (m *Models) Add(spec Spec, jobs Jobs) error {
	if slices.ContainsFunc(m.all, func(n named) bool { return n.spec == spec }) {
		return fmt.Errorf("model %s is there twice", nameOf(spec))
	}
	m.all = append(m.all, named{spec, jobs})
	return nil
}

// Names returns the names of all, the default first.
func (m *Models) Names() []string {
	names := make([]string, len(m.all))
	for i, n := range m.all {
		names[i] = nameOf(n.spec)
	}
	return names
}

func nameOf(spec Spec) string { return strings.TrimSuffix(spec.String(), ":") }

// Jobs returns the model of a request that names a provider and a model: the first that
// has both, where either may be "". The model may be written as provider:model. The error
// is an [UnknownModelError].
func (m *Models) Jobs(provider, model string) (Jobs, error) {
	for _, n := range m.all {
		fits := (provider == "" || strings.EqualFold(provider, n.spec.Provider)) &&
			(model == "" || model == n.spec.Model || model == nameOf(n.spec))
		if fits {
			return n.jobs, nil
		}
	}
	return nil, &UnknownModelError{Provider: provider, Model: model, Set: m.Names()}
}
