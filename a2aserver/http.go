package a2aserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"time"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/storage"
)

// Call answers a JSON-RPC request, or a batch, for an agent. The caller is authenticated
// and the body read. It writes every answer except for an unknown agent, which is
// ErrNotFound.
//
// It leaves a write deadline of Config.WriteTimeout on the connection, which a server
// with a WriteTimeout replaces for the next request.
func (h *Host) Call(w http.ResponseWriter, r *http.Request, caller storage.Caller, agent string, body []byte) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	transport{Config: &h.cfg, agent: s}.serve(w, r.WithContext(auth.WithCaller(r.Context(), caller)), body)
	return nil
}

// CallLegacy is Call for clients that speak A2A 0.3 alone. Call understands them too; but
// what it cannot read it answers as 1.0 has it.
func (h *Host) CallLegacy(w http.ResponseWriter, r *http.Request, caller storage.Caller, agent string, body []byte) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	transport{Config: &h.cfg, agent: s, legacy: true}.serve(w, r.WithContext(auth.WithCaller(r.Context(), caller)), body)
	return nil
}

// ServeCatalog serves the list of agents.
func (h *Host) ServeCatalog(w http.ResponseWriter, r *http.Request) error {
	text, err := encodeJSON(h.cfg.Catalog(baseurl.From(r.Context())))
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	servePublic(w, r, text)
	return nil
}

// ServeCard serves the card of an agent. An unknown one is ErrNotFound.
func (h *Host) ServeCard(w http.ResponseWriter, r *http.Request, agent string) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	text, err := h.cfg.CardJSON(s.agent.Card(baseurl.From(r.Context())))
	if err == nil {
		servePublic(w, r, text)
	}
	return err
}

// ServeLegacyCard serves the card of an agent as A2A 0.3 has it.
func (h *Host) ServeLegacyCard(w http.ResponseWriter, r *http.Request, agent string) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	text, err := h.cfg.LegacyCardJSON(s.agent.Card(baseurl.From(r.Context())))
	if err == nil {
		servePublic(w, r, text)
	}
	return err
}

func noAgent(name string) error {
	return storage.Errorf(storage.ErrNotFound, "there is no agent %q", shorten(name))
}

// servePublic serves a public JSON document with an ETag and a cache lifetime. Its URLs
// may come from the request's headers: then shared caches must not store it.
func servePublic(w http.ResponseWriter, r *http.Request, text []byte) {
	text = append(text[:len(text):len(text)], '\n')
	sum := sha256.Sum256(text)
	header := w.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "private, max-age=300")
	if baseurl.Configured(r.Context()) {
		header.Set("Cache-Control", "public, max-age=300")
	}
	header.Set("ETag", `"`+base64.RawURLEncoding.EncodeToString(sum[:16])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}
