package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/rest"
)

func TestFaultsOfOurs(t *testing.T) {
	t.Parallel()
	const secret = "the secret cause"
	for name, test := range map[string]struct {
		fault  func(ctx context.Context) error
		status int
		code   string
		logged string
	}{
		"an error": {func(context.Context) error { return errors.New(secret) }, 500, "INTERNAL", secret},
		"a panic":  {func(context.Context) error { panic(secret) }, 500, "INTERNAL", secret},
		"the database away": {func(context.Context) error {
			return errors.Join(errors.New(secret), domain.ErrUnavailable)
		}, 503, "UNAVAILABLE", secret},
		"too slow": {func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}, 503, "UNAVAILABLE", "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
				cfg.Rate = func(ctx context.Context, _ domain.Caller, _ domain.Rating) error { return test.fault(ctx) }
				cfg.RequestTimeout = 200 * time.Millisecond
			})
			got := s.send("alice", http.MethodPost, "/query/runs/"+domain.NewID()+"/feedback", "application/json", `{"thumbsUp":true}`)
			s.checkError(name, got, test.status, test.code)
			if strings.Contains(got.body, secret) {
				t.Errorf("the cause was told: %s", got.body)
			}
			s.server.Close() // waits for the request to be logged
			id := got.header.Get("X-Request-Id")
			if line := s.log.String(); !strings.Contains(line, test.logged) || !strings.Contains(line, id) {
				t.Errorf("the log lacks %q or %s: %s", test.logged, id, line)
			}
		})
	}
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	closed := sqlstoretest.SQLite(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Store = closed })
	got := s.send("-", http.MethodGet, "/readyz", "", "")
	s.checkError("store away", got, http.StatusServiceUnavailable, "UNAVAILABLE")
	if !strings.Contains(got.body, "the database cannot be reached now") {
		t.Errorf("which store is away: %s", got.body)
	}
	if got := s.send("-", http.MethodGet, "/healthz", "", ""); got.status != http.StatusOK {
		t.Errorf("alive: %d", got.status)
	}

	s = newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) {
		cfg.PingObjects = func(context.Context) error { return fs.ErrNotExist }
	})
	got = s.send("-", http.MethodGet, "/readyz", "", "")
	s.checkError("objects away", got, http.StatusServiceUnavailable, "UNAVAILABLE")
	if !strings.Contains(got.body, "the object store cannot be reached now") {
		t.Errorf("which store is away: %s", got.body)
	}

	s = newService(t, sqlstoretest.SQLite(t))
	s.rest.Drain()
	s.checkError("draining", s.send("-", http.MethodGet, "/readyz", "", ""), http.StatusServiceUnavailable, "UNAVAILABLE")
	if got := s.send("alice", http.MethodGet, "/schema/datasets/all", "", ""); got.status != http.StatusOK {
		t.Errorf("a request while draining: %d %s", got.status, got.body)
	}
}

func TestRequestID(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for given, kept := range map[string]bool{"abc-123": true, "": false, "with blanks": false, strings.Repeat("x", 129): false} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+"/nothing", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Request-Id", given)
		got := s.do(request).header.Get("X-Request-Id")
		if got == "" || (got == given) != kept {
			t.Errorf("%q: got %q", given, got)
		}
	}
	s.server.Close()
	for line := range strings.Lines(s.log.String()) {
		var logged map[string]any
		if err := json.Unmarshal([]byte(line), &logged); err != nil || logged["request_id"] == nil {
			t.Errorf("a log line without a request id: %s", line)
		}
	}
}

func TestLogsKeepTokensOut(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.send("alice", http.MethodGet, "/schema/datasets/all", "", "")
	s.makeToken("own", "alice", `{"name":"x"}`)
	s.send("own", http.MethodGet, "/schema/datasets/all", "", "")
	s.server.Close()
	if log := s.log.String(); strings.Contains(log, "eyJ") || !strings.Contains(log, `"user":"alice"`) {
		t.Errorf("log: %s", log)
	}
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.send("alice", http.MethodGet, "/data/alice/shop/none", "", "")
	s.send("alice", http.MethodGet, "/nothing/at/all", "", "")
	s.send("alice", "MADEUP", "/nothing/at/all", "", "")
	got := s.send("-", http.MethodGet, "/metrics", "", "")
	for _, want := range []string{
		`parley_http_requests_total{method="GET",route="/api/v1/data/:username/:namespace/:datasetName",status="404"} 1`,
		`parley_http_requests_total{method="GET",route="none",status="404"} 1`,
		`parley_http_requests_total{method="other",route="none",status="404"} 1`,
		`parley_http_request_duration_seconds_count{method="GET",route="none"} 1`,
	} {
		if !strings.Contains(got.body, want) {
			t.Errorf("no %s in:\n%s", want, got.body)
		}
	}
}

// What a proxy says of the address reaches the agents, from a trusted one alone.
func TestPublicAddress(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		proxies []string
		base    string
		want    string
	}{
		"trusted":           {proxies: []string{"127.0.0.0/8", "::1"}, want: "https://parley.example:8443/tools/api/v1/a2a/nl2ql"},
		"not trusted":       {proxies: []string{"192.0.2.1"}},
		"no proxies":        {},
		"a configured base": {proxies: []string{"127.0.0.1"}, base: "https://set.example/api/v1/", want: "https://set.example/api/v1/a2a/nl2ql"},
	} {
		s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.TrustedProxies, cfg.BaseURL = test.proxies, test.base })
		if test.want == "" {
			test.want = s.server.URL + rest.Root + "/a2a/nl2ql"
		}
		for _, header := range []http.Header{
			{"X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"parley.example"}, "X-Forwarded-Port": {"8443"}, "X-Forwarded-Prefix": {"/tools"}},
			{"Forwarded": {`proto=https;host="parley.example:8443"`}, "X-Forwarded-Prefix": {"/tools"}},
		} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.server.URL+rest.Root+"/a2a", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header = header
			if got := s.do(request); !strings.Contains(got.body, `"`+test.want+`"`) {
				t.Errorf("%s: %s, want %s", name, got.body, test.want)
			}
		}
	}
}

// A browser sends a request only with headers that the preflight allowed: those of the
// A2A bindings are among them.
func TestPreflightAllowsProtocolHeaders(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.CORSOrigins = []string{"https://app.example"} })
	for _, header := range []string{"a2a-extensions", "a2a-version", "last-event-id", "authorization", "content-type", "a2a-extensions,a2a-version,authorization,last-event-id"} {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, s.server.URL+rest.Root+"/a2a/nl2ql", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Origin", "https://app.example")
			request.Header.Set("Access-Control-Request-Method", method)
			request.Header.Set("Access-Control-Request-Headers", header)
			got := s.do(request)
			if got.header.Get("Access-Control-Allow-Headers") != header || got.header.Get("Access-Control-Allow-Methods") != method {
				t.Errorf("%s with %s: %d %v", method, header, got.status, got.header)
			}
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	ask := func(s *service, method, origin string) answer {
		request, err := http.NewRequestWithContext(t.Context(), method, s.server.URL+rest.Root+"/schema/datasets/all", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Origin", origin)
		request.Header.Set("Access-Control-Request-Method", http.MethodGet)
		request.Header.Set("Access-Control-Request-Headers", "authorization")
		return s.do(request)
	}
	const allow = "Access-Control-Allow-Origin"
	plain := newService(t, sqlstoretest.SQLite(t))
	if got := ask(plain, http.MethodOptions, "https://app.example"); got.header.Get(allow) != "" {
		t.Errorf("allowed though not set: %v", got.header)
	}
	set := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.CORSOrigins = []string{"https://app.example"} })
	if got := ask(set, http.MethodOptions, "https://app.example"); got.status != http.StatusNoContent || got.header.Get(allow) != "https://app.example" {
		t.Errorf("preflight: %d %v", got.status, got.header)
	}
	if got := ask(set, http.MethodGet, "https://app.example"); got.status != http.StatusUnauthorized || got.header.Get(allow) != "https://app.example" {
		t.Errorf("an error must be readable too: %d %v", got.status, got.header)
	}
	if got := ask(set, http.MethodOptions, "https://evil.example"); got.header.Get(allow) != "" {
		t.Errorf("another origin: %v", got.header)
	}
}
