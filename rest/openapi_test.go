package rest_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/rest"
)

// described is what these tests read of the description.
type described struct {
	Servers []struct{ URL string }
	Paths   map[string]map[string]yaml.Node
}

func (s *service) description() described {
	s.t.Helper()
	got := s.send("-", http.MethodGet, "/openapi.yaml", "", "")
	var doc described
	if err := yaml.Unmarshal([]byte(got.body), &doc); err != nil || got.status != http.StatusOK {
		s.t.Fatalf("the description: %d %v", got.status, err)
	}
	return doc
}

// tenant is what may come before an operation of A2A's HTTP+JSON binding.
var tenant = regexp.MustCompile(`(/a2a/:agent)(/:owner|/:owner/:namespace)(/message:|/tasks|/extendedAgentCard)`)

var parameters = regexp.MustCompile(`[:*]\w+|\{\w+\}`)

// route returns an operation the same form wherever it is written. HEAD is
// described once, for all; an end in '/' with the path without it, as is a tenant; assets, whose
// names come from what is in them, together.
func route(method, path string) string {
	if method = strings.ToUpper(method); method == http.MethodHead {
		method = http.MethodGet
	}
	switch {
	case path == rest.Root+rest.RowsForNew:
		path = rest.Root + "/ingest/{}/{}"
	case strings.TrimSuffix(path, "/") == rest.Root+"/a2a/:agent/:owner/:namespace":
		path = rest.Root + "/a2a/{agent}" // the same for one namespace
	case strings.HasPrefix(path, "/assets/"):
		path = "/assets/{}"
	case path != "/":
		path = strings.TrimSuffix(path, "/")
	}
	path = tenant.ReplaceAllString(path, "$1$3")
	return method + " " + parameters.ReplaceAllString(path, "{}")
}

// TestEveryRouteIsDescribed compares what there is with what is described.
func TestEveryRouteIsDescribed(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	var there, said []string
	for _, r := range s.rest.Routes() {
		if strings.HasPrefix(r.Path, "/lf.a2a.v1.") || r.Path == "/mcp" {
			continue // gRPC and MCP, which have descriptions of their own
		}
		there = append(there, route(r.Method, r.Path))
	}
	for path, item := range s.description().Paths {
		root := rest.Root
		if _, outside := item["servers"]; outside {
			root = ""
		}
		for method := range item {
			if slices.Contains([]string{"get", "put", "post", "patch", "delete"}, method) {
				said = append(said, route(method, root+path))
			}
		}
	}
	for _, r := range there {
		if !slices.Contains(said, r) {
			t.Errorf("%s is not described", r)
		}
	}
	for _, r := range said {
		if !slices.Contains(there, r) {
			t.Errorf("%s is described and not there", r)
		}
	}
}

func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for path, mediaType := range map[string]string{
		"/openapi.yaml": "application/yaml", "/docs": "text/html; charset=utf-8", "/docs/style.css": "text/css; charset=utf-8",
	} {
		got := s.send("-", http.MethodGet, path, "", "")
		if got.status != http.StatusOK || got.header.Get("Content-Type") != mediaType || got.header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%s: %d %v", path, got.status, got.header)
		}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("If-None-Match", got.header.Get("ETag"))
		if again := s.do(request); again.status != http.StatusNotModified || again.body != "" {
			t.Errorf("%s again: %d, %d bytes", path, again.status, len(again.body))
		}
		if head := s.send("-", http.MethodHead, path, "", ""); head.status != http.StatusOK || head.header.Get("ETag") != got.header.Get("ETag") {
			t.Errorf("HEAD %s: %d %v", path, head.status, head.header)
		}
	}
	policy := s.send("-", http.MethodGet, "/docs", "", "").header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'self';") {
		t.Errorf("policy: %s", policy)
	}
}

// TestDescriptionIsOfTheServer asks for the description by different addresses.
func TestDescriptionIsOfTheServer(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	if got := s.description().Servers[0].URL; got != s.server.URL+rest.Root {
		t.Errorf("the server is %q", got)
	}
	public := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.BaseURL = "https://data.example/parley/api/v1" })
	if got := public.description().Servers[0].URL; got != "https://data.example/parley/api/v1" {
		t.Errorf("the public server is %q", got)
	}
	if page := public.send("-", http.MethodGet, "/docs", "", "").body; !strings.Contains(page, "<code>https://data.example/parley/api/v1</code>") {
		t.Error("the page does not say where the public server is")
	}
}
