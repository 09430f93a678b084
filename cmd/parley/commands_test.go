package main

import (
	"bufio"
	"net/http"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
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
			"PARLEY_KEEP_EVENTS=1m", "PARLEY_KEEP_RUNS=-3d", "PARLEY_KEEP_UPLOADS=2weeks",
		}, []string{"serve"}, []string{
			"--listen (PARLEY_LISTEN)", "--database-url (PARLEY_DATABASE_URL)", "--base-url (PARLEY_BASE_URL)", "--auth-url (PARLEY_AUTH_URL)",
			"--log-format (PARLEY_LOG_FORMAT)", "--log-level (PARLEY_LOG_LEVEL)", "--max-body (PARLEY_MAX_BODY)", "--drain-timeout (PARLEY_DRAIN_TIMEOUT)",
			"--request-timeout (PARLEY_REQUEST_TIMEOUT)", `"nobody"`, `"example.com"`, "--auth-jwks-url (PARLEY_AUTH_JWKS_URL)", "--migrate (PARLEY_MIGRATE)",
			"--objects (PARLEY_OBJECTS)", "--query-timeout (PARLEY_QUERY_TIMEOUT)", "--max-rows (PARLEY_MAX_ROWS)", "--upload-url-ttl (PARLEY_UPLOAD_URL_TTL)",
			"--keep-events (PARLEY_KEEP_EVENTS)", "--keep-runs (PARLEY_KEEP_RUNS)", "--keep-uploads (PARLEY_KEEP_UPLOADS)",
		}},
		{"a port too high", nil, []string{"serve", "--listen", "127.0.0.1:65536"}, []string{"--listen"}},
		{"no folder", []string{"PARLEY_DATA="}, []string{"serve"}, []string{"--data"}},
		{"an issuer that is no address", nil, []string{"serve", "--auth-issuer", "idp"}, []string{"issuer"}},
		{"keys and a secret", nil, []string{"serve", "--auth-jwks-url", "https://x/keys", "--auth-secret", "s"}, []string{"not both"}},
		{"an unknown flag", nil, []string{"serve", "--nonsense"}, []string{"--nonsense"}},
		{"an unknown command", nil, []string{"nonsense"}, []string{"nonsense"}},
		{"a token for nobody", nil, []string{"token"}, []string{"user"}},
		{"a token for self, for ever", nil, []string{"token", "Self", "--ttl=-1h"}, []string{"USER", "--ttl must be"}},
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
			"--agent must", "--limit must", "--parallel must", "--failures must", "--pairs must",
			"--server (PARLEY_SERVER)", "--token (PARLEY_TOKEN) goes with --server", "--llm (PARLEY_LLM)"}},
		{"no tasks", []string{"PARLEY_TOKEN=x"}, []string{"tasks", "--limit", "0"}, []string{"--limit must be 1 to 1000"}},
		{"no conversation", []string{"PARLEY_TOKEN=x"}, []string{"ask", "--context", "nope", "What?"}, []string{"--context must be the id of a conversation"}},
		{"no address", []string{"PARLEY_TOKEN=x"}, []string{"datasets", "--server", "localhost:8080"}, []string{"--server (PARLEY_SERVER) must be an http or https address", `"localhost:8080"`}},
		{"half an address", []string{"PARLEY_TOKEN=x", "PARLEY_SERVER=http://"}, []string{"tasks"}, []string{"--server (PARLEY_SERVER) must be an http or https address"}},
		{"no address to measure", []string{"PARLEY_TOKEN=x"}, []string{"eval", "x", "--server", "localhost:8080"}, []string{"--server (PARLEY_SERVER) must be an http or https address"}},
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

// TestVariables has what is said for this once not come from the environment.
func TestVariables(t *testing.T) {
	t.Parallel()
	settings := []string{"PARLEY_SERVER", "PARLEY_TOKEN", "PARLEY_NAMESPACE", "PARLEY_PROVIDER", "PARLEY_MODEL"}
	for _, name := range []string{"ask", "tasks", "cancel", "ingest", "datasets", "share"} {
		for _, flag := range commands(t)[name].Flags {
			for _, variable := range flag.Envs {
				if !slices.Contains(settings, variable) {
					t.Errorf("%s sets --%s of parley %s", variable, flag.Name, name)
				}
			}
		}
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

// TestSchemaOfAnotherVersion has the server meet databases of a later release: it
// works with one to which things were added, and does not touch one that says
// that this is not enough.
func TestSchemaOfAnotherVersion(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		runCommand(t, dir, env, "migrate")
		driver, source := "sqlite", filepath.Join(dir, "parley-data", "parley.db")
		if env != nil {
			driver, source = "postgres", strings.TrimPrefix(env[0], "PARLEY_DATABASE_URL=")
		}
		change := func(statements ...string) {
			t.Helper()
			db, err := sqlx.Open(driver, source)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = db.Close() }()
			for _, statement := range statements {
				if _, err := db.Exec(statement); err != nil {
					t.Fatal(err)
				}
			}
		}
		change(`ALTER TABLE runs ADD COLUMN mood TEXT NOT NULL DEFAULT 'good'`, `CREATE TABLE moods (name TEXT PRIMARY KEY)`,
			`INSERT INTO parley_schema (version_id, is_applied) VALUES (9999, true)`)
		p := serve(t, dir, env, "--migrate")
		c := client{p, p.token("alice")}
		c.newDataset("shop", "orders")
		if _, answer := c.sendMessage("nl2ql", message(`"metadata":{"namespace":"shop"}`)); !strings.Contains(answer, "COMPLETED") {
			t.Errorf("asked on a newer schema: %s", answer)
		}
		p.signal(syscall.SIGTERM)
		p.wait()
		change(`UPDATE schema_readers SET oldest = 9999`)
		for _, args := range [][]string{{"serve"}, {"serve", "--migrate"}, {"migrate"}} {
			if got := runCommand(t, dir, env, args...); got.code != exitFailed || !strings.Contains(got.stderr, "newer parley") {
				t.Errorf("%v on a schema that is too new: %+v", args, got)
			}
		}
	})
}

// TestManyStartAtOnce starts servers and migrations together on a database that
// has nothing yet.
func TestManyStartAtOnce(t *testing.T) {
	t.Parallel()
	env := []string{"PARLEY_DATABASE_URL=" + pgtest.URL(t)}
	var migrations sync.WaitGroup
	for range 4 {
		migrations.Go(func() {
			if got := runCommand(t, t.TempDir(), env, "migrate"); got.code != exitOK {
				t.Errorf("migrate: %+v", got)
			}
		})
	}
	starting := make([]*exec.Cmd, 3)
	for i := range starting {
		starting[i] = command(t, t.TempDir(), env, "serve", "--listen", "127.0.0.1:0", "--migrate")
		stdout, err := starting[i].StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := starting[i].Start(); err != nil {
			t.Fatal(err)
		}
		migrations.Go(func() {
			line, err := bufio.NewReader(stdout).ReadString('\n')
			if err != nil || !strings.HasPrefix(line, "Parley is ready at ") {
				t.Errorf("not ready: %q, %v", line, err)
			}
			_ = starting[i].Process.Signal(syscall.SIGTERM)
			_ = starting[i].Wait()
		})
	}
	migrations.Wait()
}

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
