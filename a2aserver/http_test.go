package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/internal/baseurl"
	"parley/internal/domain"
)

func cardHost() *Host {
	cfg := testConfig(&logtest.Buffer{})
	cfg.Agents = []Agent{{Name: "nl2ql", Card: func(baseURL string) *a2a.AgentCard { return &a2a.AgentCard{Name: baseURL + "/nl2ql"} }}}
	cfg.Catalog = func(baseURL string) any { return []map[string]string{{"url": baseURL + "?a&b"}} }
	cfg.AICatalog = func(baseURL string) any { return map[string]string{"host": baseURL} }
	cfg.Keys = func() any { return map[string]string{"kty": "EC"} }
	cfg.Sign = func(ctx context.Context, card *a2a.AgentCard) (*a2a.AgentCard, error) {
		signed := *card
		signed.Name += " signed for " + baseurl.From(ctx)
		return &signed, nil
	}
	return New(*cfg)
}

func get(t *testing.T, serve func(w http.ResponseWriter, r *http.Request) error, method, base, ifNoneMatch string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(baseurl.With(context.Background(), base, base == "http://a"), method, "/", nil)
	if ifNoneMatch != "" {
		r.Header.Set("If-None-Match", ifNoneMatch)
	}
	w := httptest.NewRecorder()
	w.Header().Set("Cache-Control", "no-store")
	if err := serve(w, r); err != nil {
		t.Fatal(err)
	}
	return w
}

func TestServeCardAndCatalog(t *testing.T) {
	t.Parallel()
	host := cardHost()
	serves := map[string]func(w http.ResponseWriter, r *http.Request) error{
		"{\"name\":\"http://a/nl2ql signed for http://a\"}\n": func(w http.ResponseWriter, r *http.Request) error { return host.ServeCard(w, r, "nl2ql") },
		"[{\"url\":\"http://a?a&b\"}]\n":                      host.ServeCatalog,
	}
	for want, serve := range serves {
		w := get(t, serve, http.MethodGet, "http://a", "")
		etag := w.Header().Get("ETag")
		if w.Code != http.StatusOK || w.Body.String() != want || w.Header().Get("Content-Type") != "application/json" ||
			w.Header().Get("Cache-Control") != "public, max-age=300" || !strings.HasPrefix(etag, `"`) {
			t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
		}
		for header, status := range map[string]int{
			etag: 304, "W/" + etag: 304, `"x", ` + etag: 304, "*": 304, `"x"`: 200, strings.Trim(etag, `"`): 200,
		} {
			w := get(t, serve, http.MethodGet, "http://a", header)
			if w.Code != status || (w.Body.Len() == 0) != (status == 304) || w.Header().Get("ETag") != etag {
				t.Errorf("If-None-Match: %s: %d %s", header, w.Code, w.Body)
			}
		}
		if w := get(t, serve, http.MethodHead, "http://a", ""); w.Code != http.StatusOK || w.Body.Len() != 0 || w.Header().Get("ETag") != etag {
			t.Errorf("HEAD: %d %v %s", w.Code, w.Header(), w.Body)
		}
		w = get(t, serve, http.MethodGet, "http://b", etag)
		if w.Code != http.StatusOK || w.Header().Get("Cache-Control") != "private, max-age=300" {
			t.Errorf("at an address that the client named: %d %v", w.Code, w.Header())
		}
	}
	for want, serve := range map[string]func(w http.ResponseWriter, r *http.Request) error{
		"application/jwk-set+json {\"kty\":\"EC\"}\n public, max-age=300":            host.ServeKeys,
		"application/ai-catalog+json {\"host\":\"http://b\"}\n private, max-age=300": host.ServeAICatalog,
	} {
		w := get(t, serve, http.MethodGet, "http://b", "")
		if got := w.Header().Get("Content-Type") + " " + w.Body.String() + " " + w.Header().Get("Cache-Control"); got != want || w.Header().Get("ETag") == "" {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	err := host.ServeCard(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil), "nobody")
	if !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("an unknown agent's card: %v", err)
	}
}
