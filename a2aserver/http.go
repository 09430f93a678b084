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

// Call answers a JSON-RPC request, or a batch of them, to an agent. The caller
// is authenticated and the body read. It writes all answers but one: an agent
// that does not exist is ErrNotFound.
//
// It leaves a write deadline on the connection, as long as Config.WriteTimeout,
// which a server with a WriteTimeout of its own replaces for the next request.
func (h *Host) Call(w http.ResponseWriter, r *http.Request, caller storage.Caller, agent string, body []byte) error {
	found, ok := h.service(agent)
	if !ok {
		return noAgent(agent)
	}
	ctx := auth.WithCaller(r.Context(), caller)
	transport{Config: &h.cfg, agent: found}.serve(w, r.WithContext(ctx), body)
	return nil
}

// ServeCatalog answers with the list of agents.
func (h *Host) ServeCatalog(w http.ResponseWriter, r *http.Request) error {
	text, err := encodeJSON(h.cfg.Catalog(baseurl.From(r.Context())))
	if err != nil {
		return fmt.Errorf("write catalog: %w", err)
	}
	servePublic(w, r, text)
	return nil
}

// ServeCard answers with the card of an agent. One that does not exist is
// ErrNotFound.
func (h *Host) ServeCard(w http.ResponseWriter, r *http.Request, agent string) error {
	for _, a := range h.cfg.Agents {
		if a.Name != agent {
			continue
		}
		text, err := h.cfg.CardJSON(a.Card(baseurl.From(r.Context())))
		if err != nil {
			return err
		}
		servePublic(w, r, text)
		return nil
	}
	return noAgent(agent)
}

func noAgent(name string) error {
	return storage.Errorf(storage.ErrNotFound, "there is no agent %q", shorten(name))
}

// servePublic answers with a JSON document that everybody may see and keep for
// a while. A client that has it is told so. Its addresses may be made of what the
// client said of them: then no cache may give it to others.
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
