package a2aserver

import (
	"context"
	"fmt"
	"net/http"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/etag"
	"parley/internal/jsontext"
)

// Call answers a JSON-RPC request, or a batch, for an agent. path is what follows the agent in the
// request's path: "", "owner/name" for a namespace, which questions that name none are about, or the
// version of clients that speak A2A 0.3 alone, for whom errors are as 0.3 has them. The caller is
// authenticated and the body read. It writes every answer except for an unknown agent, which is
// ErrNotFound.
//
// It leaves a write deadline of Config.WriteTimeout on the connection, which a server
// with a WriteTimeout replaces for the next request.
func (h *Host) Call(w http.ResponseWriter, r *http.Request, caller domain.Caller, agent, path string, body []byte) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	s.setExtensions(w, r)
	ctx := auth.WithCaller(r.Context(), caller)
	legacy := path == "v"+legacyVersion
	if !legacy {
		ctx = withPathTenant(ctx, path)
	}
	transport{Config: &h.cfg, agent: s, legacy: legacy}.serve(w, r.WithContext(ctx), body)
	return nil
}

// ServeCatalog serves the list of agents.
func (h *Host) ServeCatalog(w http.ResponseWriter, r *http.Request) error {
	text, err := jsontext.Marshal(h.cfg.Catalog(baseurl.From(r.Context())))
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	servePublic(w, r, mediaJSON, text)
	return nil
}

// ServeCard serves the card of an agent. An unknown one is ErrNotFound.
func (h *Host) ServeCard(w http.ResponseWriter, r *http.Request, agent string) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	card, err := h.sign(r.Context(), s.agent.Card(baseurl.From(r.Context())))
	if err != nil {
		return err
	}
	text, err := h.cfg.CardJSON(card)
	if err == nil {
		servePublic(w, r, mediaJSON, text)
	}
	return err
}

// ServeNamespaceCard serves a caller the card of an agent for a namespace. An unknown agent,
// and a namespace that the caller may not read, are ErrNotFound.
func (h *Host) ServeNamespaceCard(w http.ResponseWriter, r *http.Request, caller domain.Caller, agent string, namespace domain.NamespaceRef) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	release, err := h.cfg.shortSlot(auth.WithCaller(r.Context(), caller))
	if err != nil {
		return err
	}
	defer release()
	card, err := s.agent.NamespaceCard(r.Context(), caller, baseurl.From(r.Context()), namespace)
	if err == nil {
		card, err = h.sign(r.Context(), card)
	}
	if err != nil {
		return err
	}
	text, err := h.cfg.CardJSON(card)
	if err == nil {
		release() // the client may read slowly
		serveDocument(w, r, mediaJSON, "private, max-age=0, must-revalidate", text)
	}
	return err
}

// ServeLegacyCard serves the card of an agent as A2A 0.3 has it.
func (h *Host) ServeLegacyCard(w http.ResponseWriter, r *http.Request, agent string) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	text, err := h.cfg.LegacyCardJSON(r.Context(), s.agent.Card(baseurl.From(r.Context())))
	if err == nil {
		servePublic(w, r, mediaJSON, text)
	}
	return err
}

// sign returns a card as it leaves the host, by any transport.
func (h *Host) sign(ctx context.Context, card *a2a.AgentCard) (*a2a.AgentCard, error) {
	if h.cfg.Sign == nil {
		return card, nil
	}
	return h.cfg.Sign(ctx, card)
}

// ServeAICatalog serves the list of agents for registries.
func (h *Host) ServeAICatalog(w http.ResponseWriter, r *http.Request) error {
	text, err := jsontext.Marshal(h.cfg.AICatalog(baseurl.From(r.Context())))
	if err != nil {
		return fmt.Errorf("write AI catalog: %w", err)
	}
	servePublic(w, r, mediaAICatalog, text)
	return nil
}

// ServeKeys serves the keys of cards' signatures.
func (h *Host) ServeKeys(w http.ResponseWriter, r *http.Request) error {
	text, err := jsontext.Marshal(h.cfg.Keys())
	if err != nil {
		return fmt.Errorf("write keys: %w", err)
	}
	// They are the same at any address.
	servePublic(w, r.WithContext(baseurl.With(r.Context(), baseurl.From(r.Context()), true)), mediaKeys, text)
	return nil
}

// Media types of answers.
const (
	mediaJSON      = "application/json"
	mediaKeys      = "application/jwk-set+json"
	mediaAICatalog = "application/ai-catalog+json"
)

func noAgent(name string) error {
	return domain.Errorf(domain.ErrNotFound, "there is no agent %q", shorten(name))
}

// servePublic serves a public JSON document with an ETag and a cache lifetime. Its URLs
// may come from the request's headers: then shared caches must not store it.
func servePublic(w http.ResponseWriter, r *http.Request, mediaType string, text []byte) {
	caching := "private, max-age=300"
	if baseurl.Configured(r.Context()) {
		caching = "public, max-age=300"
	}
	serveDocument(w, r, mediaType, caching, text)
}

func serveDocument(w http.ResponseWriter, r *http.Request, mediaType, caching string, text []byte) {
	etag.Serve(w, r, mediaType, caching, append(text[:len(text):len(text)], '\n'))
}
