package llm

import (
	"context"
	"fmt"
	"net/http"
	"strings"
)

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
