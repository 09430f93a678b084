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
	// APIKey proves to the provider who asks. Ollama needs none, and is sent
	// it as a bearer token when one is set. A server that speaks OpenAI's
	// interface and wants no key takes any text.
	APIKey string
	// BaseURL is where the provider is reached, when not at its own public
	// address (for Ollama, on this machine). It is written as for the
	// provider's own clients: with /v1 for OpenAI, with or without it for
	// Anthropic, as a URL or as host:port for Ollama.
	BaseURL string
}

// connections are those to models, that nobody else closes.
var connections = http.DefaultTransport.(*http.Transport).Clone()

// Open prepares a model for asking. It checks the whole of cfg, and calls no
// one: a wrong key or an unknown model shows with the first question. The
// error is [ErrNoKey] where the provider needs a key and cfg has none. ctx
// bounds the opening, not the model's later calls.
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
	client := &http.Client{Transport: &transport{
		provider: p,
		model:    spec.Model,
		key:      key,
		sendKey:  p.bearer && key != "",
		next:     connections,
	}}
	chat, err := p.open(target{model: spec.Model, key: key, baseURL: base, client: client})
	if err != nil {
		return nil, fmt.Errorf("open model %s: %w", spec, redact(err, key))
	}
	return &Model{chat: chat, spec: spec, key: key, maxTokens: p.maxTokens}, nil
}
