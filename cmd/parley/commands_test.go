package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jmoiron/sqlx"
	_ "github.com/lib/pq"

	"parley/internal/pgtest"
)

func TestWrongSettings(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name string
		env  []string
		args []string
		want []string
	}{
		{"all at once", []string{
			"PARLEY_LISTEN=8080", "PARLEY_DATABASE_URL=mysql://root:hunter2@x/y", "PARLEY_BASE_URL=https://example.com/",
			"PARLEY_AUTH_URL=x", "PARLEY_LOG_FORMAT=xml", "PARLEY_LOG_LEVEL=loud", "PARLEY_MAX_BODY=1MB", "PARLEY_REQUEST_TIMEOUT=0",
			"PARLEY_TRUSTED_PROXIES=10.0.0.0/8,nobody", "PARLEY_CORS_ORIGINS=example.com", "PARLEY_AUTH_JWKS_URL=keys", "PARLEY_DRAIN_TIMEOUT=soon", "PARLEY_MIGRATE=perhaps",
			"PARLEY_OBJECTS=ftp://bucket", "PARLEY_QUERY_TIMEOUT=1h", "PARLEY_MAX_ROWS=0", "PARLEY_UPLOAD_URL_TTL=never",
		}, []string{"serve"}, []string{
			"--listen (PARLEY_LISTEN)", "--database-url (PARLEY_DATABASE_URL)", "--base-url (PARLEY_BASE_URL)", "--auth-url (PARLEY_AUTH_URL)",
			"--log-format (PARLEY_LOG_FORMAT)", "--log-level (PARLEY_LOG_LEVEL)", "--max-body (PARLEY_MAX_BODY)", "--drain-timeout (PARLEY_DRAIN_TIMEOUT)",
			"--request-timeout (PARLEY_REQUEST_TIMEOUT)", `"nobody"`, `"example.com"`, "--auth-jwks-url (PARLEY_AUTH_JWKS_URL)", "--migrate (PARLEY_MIGRATE)",
			"--objects (PARLEY_OBJECTS)", "--query-timeout (PARLEY_QUERY_TIMEOUT)", "--max-rows (PARLEY_MAX_ROWS)", "--upload-url-ttl (PARLEY_UPLOAD_URL_TTL)",
		}},
		{"a port too high", nil, []string{"serve", "--listen", "127.0.0.1:65536"}, []string{"--listen"}},
		{"no folder", []string{"PARLEY_DATA="}, []string{"serve"}, []string{"--data"}},
		{"an issuer that is no address", nil, []string{"serve", "--auth-issuer", "idp"}, []string{"issuer"}},
		{"keys and a secret", nil, []string{"serve", "--auth-jwks-url", "https://x/keys", "--auth-secret", "s"}, []string{"not both"}},
		{"an unknown flag", nil, []string{"serve", "--nonsense"}, []string{"--nonsense"}},
		{"an unknown command", nil, []string{"nonsense"}, []string{"nonsense"}},
		{"a token for nobody", nil, []string{"token"}, []string{"user"}},
		{"a token for self, for ever", nil, []string{"token", "Self", "--ttl=-1h"}, []string{"USER", "--ttl (PARLEY_TTL)"}},
		{"half a Langfuse", []string{"LANGFUSE_HOST=https://langfuse.example", "LANGFUSE_SECRET_KEY=hunter2"}, []string{"serve"}, []string{
			"--langfuse-public-key (LANGFUSE_PUBLIC_KEY) is missing"}},
		{"keys alone", []string{"LANGFUSE_PUBLIC_KEY=pk", "LANGFUSE_SECRET_KEY=hunter2"}, []string{"serve"}, []string{"--langfuse-host (LANGFUSE_HOST) is missing"}},
		{"wrong tracing", []string{
			"LANGFUSE_BASE_URL=https://me:hunter2@langfuse.example", "LANGFUSE_PUBLIC_KEY=pk", "LANGFUSE_SECRET_KEY=sk",
			"OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=https://x?key=hunter2", "OTEL_EXPORTER_OTLP_HEADERS=hunter2",
			"OTEL_RESOURCE_ATTRIBUTES=%zz", "OTEL_TRACES_SAMPLER=jaeger_remote", "OTEL_TRACES_SAMPLER_ARG=2",
			"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=perhaps",
		}, []string{"serve"}, []string{
			"--langfuse-host (LANGFUSE_HOST)", "--otel-exporter-otlp-endpoint (OTEL_EXPORTER_OTLP_ENDPOINT)",
			"--otel-exporter-otlp-traces-endpoint (OTEL_EXPORTER_OTLP_TRACES_ENDPOINT)", "--otel-exporter-otlp-headers (OTEL_EXPORTER_OTLP_HEADERS)",
			"--otel-resource-attributes (OTEL_RESOURCE_ATTRIBUTES)", "--otel-traces-sampler (OTEL_TRACES_SAMPLER)",
			"--otel-traces-sampler-arg (OTEL_TRACES_SAMPLER_ARG)", "(OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT)",
		}},
		{"wrong measuring", []string{"PARLEY_LLM=nonsense"}, []string{"eval", "x", "--agent=spy", "--limit=-1", "--parallel=many", "--failures=x", "--pairs=one", "--server=https://me:hunter2@x"}, []string{
			"--agent (PARLEY_AGENT)", "--limit (PARLEY_LIMIT)", "--parallel (PARLEY_PARALLEL)", "--failures (PARLEY_FAILURES)", "--pairs (PARLEY_PAIRS)",
			"--server (PARLEY_SERVER)", "--token (PARLEY_TOKEN) goes with --server", "--llm (PARLEY_LLM)"}},
		{"migrate what", nil, []string{"migrate", "--database-url", "x"}, []string{"--database-url"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got := runCommand(t, dir, test.env, test.args...)
			if got.code != exitUsage || got.stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.code, got.stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(got.stderr, want) {
					t.Errorf("no %q in:\n%s", want, got.stderr)
				}
			}
			if strings.Contains(got.stderr, "hunter2") {
				t.Errorf("a password was shown:\n%s", got.stderr)
			}
			if exists(dir, "parley-data") {
				t.Error("something was started")
			}
		})
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	const all = "/api/v1/schema/datasets/all"
	for name, env := range map[string][]string{
		"local key":     nil,
		"shared secret": {"PARLEY_AUTH_SECRET=0123456789abcdef0123456789abcdef", "PARLEY_AUTH_ISSUER=us", "PARLEY_AUTH_AUDIENCE=parley", "PARLEY_AUTH_USERNAME_CLAIM=email"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, t.TempDir(), env)
			if status, body := p.call(p.token("alice"), "GET", all, ""); status != http.StatusOK {
				t.Errorf("own token: %d %s", status, body)
			}
			elsewhere := runCommand(t, t.TempDir(), nil, "token", "alice")
			if status, _ := p.call(strings.TrimSpace(elsewhere.stdout), "GET", all, ""); status != http.StatusUnauthorized {
				t.Errorf("a token from another folder: %d", status)
			}
		})
	}
	got := runCommand(t, t.TempDir(), []string{"PARLEY_AUTH_ISSUER=https://idp.example"}, "token", "alice")
	if got.code != exitFailed || got.stdout != "" || !strings.Contains(got.stderr, "identity provider") {
		t.Errorf("with an identity provider: %+v", got)
	}
}

// TestTokenBeforeServe makes the local key before there is a server.
func TestTokenBeforeServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	early := runCommand(t, dir, nil, "token", "alice")
	p := serve(t, dir, nil)
	if status, body := p.call(strings.TrimSpace(early.stdout), "GET", "/api/v1/schema/datasets/all", ""); status != http.StatusOK {
		t.Errorf("got %d %s", status, body)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		for range 2 {
			if got := runCommand(t, dir, env, "migrate"); got.code != exitOK || !strings.Contains(got.stdout, "version") {
				t.Fatalf("migrate: %+v", got)
			}
		}
	})
}

// TestSchemaOfAnotherVersion has the server meet databases that it must not
// touch.
func TestSchemaOfAnotherVersion(t *testing.T) {
	t.Parallel()
	setVersion := func(driver, source, statement string) {
		t.Helper()
		db, err := sqlx.Open(driver, source)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = db.Close() }()
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	const newer = `INSERT INTO parley_schema (version_id, is_applied) VALUES (9999, true)`

	dir := t.TempDir()
	runCommand(t, dir, nil, "migrate")
	setVersion("sqlite", filepath.Join(dir, "parley-data", "parley.db"), newer)
	if got := runCommand(t, dir, nil, "serve"); got.code != exitFailed || !strings.Contains(got.stderr, "newer parley") {
		t.Errorf("a newer embedded database: %+v", got)
	}

	url := pgtest.URL(t)
	env := []string{"PARLEY_DATABASE_URL=" + url}
	runCommand(t, dir, env, "migrate")
	setVersion("postgres", url, newer)
	if got := runCommand(t, dir, env, "serve"); got.code != exitFailed || !strings.Contains(got.stderr, "newer parley") {
		t.Errorf("a newer database: %+v", got)
	}
	if got := runCommand(t, dir, env, "serve", "--migrate"); got.code != exitFailed || !strings.Contains(got.stderr, "newer parley") {
		t.Errorf("a newer database: %+v", got)
	}
}

// TestUnknownVariables warns of what may be a misspelt setting.
func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	p := serve(t, t.TempDir(), []string{"PARLEY_DATABSE_URL=postgres://x", "PARLEY_MIGRATE=false"})
	if log := p.log.String(); !strings.Contains(log, "PARLEY_DATABSE_URL") || strings.Contains(log, "PARLEY_MIGRATE") {
		t.Errorf("log:\n%s", log)
	}
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	if got := runCommand(t, t.TempDir(), nil, "version"); got.code != exitOK || !strings.HasPrefix(got.stdout, "parley ") {
		t.Errorf("version: %+v", got)
	}
	for _, args := range [][]string{nil, {"--help"}} {
		if got := runCommand(t, t.TempDir(), nil, args...); got.code != exitOK || !strings.Contains(got.stdout, "serve") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
