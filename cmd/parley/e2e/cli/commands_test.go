package cli

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/pgtest"
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
			"PARLEY_AUTH_URL=x", "PARLEY_LOG_FORMAT=xml", "PARLEY_LOG_LEVEL=loud", "PARLEY_MAX_UPLOAD=1MB", "PARLEY_RUN_TIMEOUT=0",
			"PARLEY_TRUSTED_PROXIES=10.0.0.0/8,nobody", "PARLEY_CORS_ORIGINS=example.com", "PARLEY_AUTH_JWKS_URL=keys", "PARLEY_DRAIN_TIMEOUT=soon", "PARLEY_MIGRATE=perhaps",
			"PARLEY_OBJECTS=ftp://bucket", "PARLEY_QUERY_TIMEOUT=1h", "PARLEY_MAX_ROWS=0",
			"PARLEY_KEEP_EVENTS=1m", "PARLEY_KEEP_RUNS=-3d",
		}, []string{"serve"}, []string{
			"--listen (PARLEY_LISTEN)", "--database-url (PARLEY_DATABASE_URL)", "--base-url (PARLEY_BASE_URL)", "--auth-url (PARLEY_AUTH_URL)",
			"--log-format (PARLEY_LOG_FORMAT)", "--log-level (PARLEY_LOG_LEVEL)", "--max-upload (PARLEY_MAX_UPLOAD)", "--drain-timeout (PARLEY_DRAIN_TIMEOUT)",
			"--run-timeout (PARLEY_RUN_TIMEOUT)", `"nobody"`, `"example.com"`, "--auth-jwks-url (PARLEY_AUTH_JWKS_URL)", "--migrate (PARLEY_MIGRATE)",
			"--objects (PARLEY_OBJECTS)", "--query-timeout (PARLEY_QUERY_TIMEOUT)", "--max-rows (PARLEY_MAX_ROWS)",
			"--keep-events (PARLEY_KEEP_EVENTS)", "--keep-runs (PARLEY_KEEP_RUNS)",
		}},
		{"a port too high", nil, []string{"serve", "--listen", "127.0.0.1:65536"}, []string{"--listen"}},
		{"no folder", []string{"PARLEY_DATA="}, []string{"serve"}, []string{"--data"}},
		{"an issuer that is no address", nil, []string{"serve", "--auth-issuer", "idp"}, []string{"issuer"}},
		{"keys and a secret", nil, []string{"serve", "--auth-jwks-url", "https://x/keys", "--auth-secret", "s"}, []string{"not both"}},
		{"an unknown flag", nil, []string{"serve", "--nonsense"}, []string{"--nonsense"}},
		{"an unknown command", nil, []string{"nonsense"}, []string{"nonsense"}},
		{"a token for nobody", nil, []string{"token", ""}, []string{"USER"}},
		{"a token for self, for ever", nil, []string{"token", "Self", "--ttl=-1h"}, []string{"USER", "--ttl must be"}},
		{"half a Langfuse", []string{"LANGFUSE_HOST=https://langfuse.example", "LANGFUSE_SECRET_KEY=hunter2"}, []string{"serve"}, []string{
			"--langfuse-public-key (LANGFUSE_PUBLIC_KEY) is missing"}},
		{"keys alone", []string{"LANGFUSE_PUBLIC_KEY=pk", "LANGFUSE_SECRET_KEY=hunter2"}, []string{"serve"}, []string{"--langfuse-host (LANGFUSE_HOST) is missing"}},
		{"an address with a password", []string{
			"LANGFUSE_BASE_URL=https://me:hunter2@langfuse.example", "LANGFUSE_PUBLIC_KEY=pk", "LANGFUSE_SECRET_KEY=sk",
		}, []string{"serve"}, []string{"--langfuse-host (LANGFUSE_HOST)"}},
		{"a removed setting", nil, []string{"serve", "--max-body", "2"}, []string{"unknown flag --max-body"}},
		{"wrong measuring", []string{"PARLEY_LLM=nonsense"}, []string{"eval", "x", "--agent=spy", "--limit=-1", "--parallel=many", "--failures=x", "--pairs=one", "--server=https://me:hunter2@x"}, []string{
			"--agent must", "--limit must", "--parallel must", "--failures must", "--pairs must",
			"--server (PARLEY_SERVER)", "--token (PARLEY_TOKEN) goes with --server", "--llm (PARLEY_LLM)"}},
		{"no tasks", []string{"PARLEY_TOKEN=x"}, []string{"tasks", "--limit", "0"}, []string{"--limit must be a number from 1 on"}},
		{"no conversation", []string{"PARLEY_TOKEN=x"}, []string{"ask", "--context", "nope", "What?"}, []string{"--context must be the id of a conversation"}},
		{"no address", []string{"PARLEY_TOKEN=x"}, []string{"datasets", "--server", "localhost:8080"}, []string{"--server (PARLEY_SERVER) must be an http or https address", `"localhost:8080"`}},
		{"half an address", []string{"PARLEY_TOKEN=x", "PARLEY_SERVER=http://"}, []string{"tasks"}, []string{"--server (PARLEY_SERVER) must be an http or https address"}},
		{"no address to measure", []string{"PARLEY_TOKEN=x"}, []string{"eval", "x", "--server", "localhost:8080"}, []string{"--server (PARLEY_SERVER) must be an http or https address"}},
		{"migrate what", nil, []string{"migrate", "--database-url", "x"}, []string{"--database-url"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			got := e2etest.RunCommand(t, dir, test.env, test.args...)
			if got.Code != e2etest.ExitUsage || got.Stdout != "" {
				t.Errorf("exit code %d, stdout %q", got.Code, got.Stdout)
			}
			for _, want := range test.want {
				if !strings.Contains(got.Stderr, want) {
					t.Errorf("no %q in:\n%s", want, got.Stderr)
				}
			}
			if strings.Contains(got.Stderr, "hunter2") {
				t.Errorf("a password was shown:\n%s", got.Stderr)
			}
			if e2etest.Exists(dir, "parley-data") {
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
			p := e2etest.Serve(t, t.TempDir(), env)
			if status, body := p.Call(p.Token("alice"), "GET", all, ""); status != http.StatusOK {
				t.Errorf("own token: %d %s", status, body)
			}
			elsewhere := e2etest.RunCommand(t, t.TempDir(), nil, "token", "alice")
			if status, _ := p.Call(strings.TrimSpace(elsewhere.Stdout), "GET", all, ""); status != http.StatusUnauthorized {
				t.Errorf("a token from another folder: %d", status)
			}
		})
	}
	got := e2etest.RunCommand(t, t.TempDir(), []string{"PARLEY_AUTH_ISSUER=https://idp.example"}, "token", "alice")
	if got.Code != e2etest.ExitFailed || got.Stdout != "" || !strings.Contains(got.Stderr, "identity provider") {
		t.Errorf("with an identity provider: %+v", got)
	}
}

// TestTokenBeforeServe makes the local key before there is a server.
func TestTokenBeforeServe(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	early := e2etest.RunCommand(t, dir, nil, "token", "alice")
	p := e2etest.Serve(t, dir, nil)
	if status, body := p.Call(strings.TrimSpace(early.Stdout), "GET", "/api/v1/schema/datasets/all", ""); status != http.StatusOK {
		t.Errorf("got %d %s", status, body)
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		for range 2 {
			if got := e2etest.RunCommand(t, dir, env, "migrate"); got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "version") {
				t.Fatalf("migrate: %+v", got)
			}
		}
	})
}

// TestSchemaOfAnotherVersion has the server meet databases of a later release: it
// works with one to which things were added, and does not touch one that says
// that this is not enough.
func TestSchemaOfAnotherVersion(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir := t.TempDir()
		e2etest.RunCommand(t, dir, env, "migrate")
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
		p := e2etest.Serve(t, dir, env, "--migrate")
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		c.NewDataset("shop", "orders")
		if _, answer := c.SendMessage("nl2ql", e2etest.Message(`"metadata":{"namespace":"shop"}`)); !strings.Contains(answer, "COMPLETED") {
			t.Errorf("asked on a newer schema: %s", answer)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()
		change(`UPDATE schema_readers SET oldest = 9999`)
		for _, args := range [][]string{{"serve"}, {"serve", "--migrate"}, {"migrate"}} {
			if got := e2etest.RunCommand(t, dir, env, args...); got.Code != e2etest.ExitFailed || !strings.Contains(got.Stderr, "newer parley") {
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
			if got := e2etest.RunCommand(t, t.TempDir(), env, "migrate"); got.Code != e2etest.ExitOK {
				t.Errorf("migrate: %+v", got)
			}
		})
	}
	starting := make([]*exec.Cmd, 3)
	for i := range starting {
		starting[i] = e2etest.Command(t, t.TempDir(), env, "serve", "--listen", "127.0.0.1:0", "--migrate")
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

// TestSignInLink has the link of a server on a terminal, and a token, be of one user.
func TestSignInLink(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := onScreen(t, e2etest.Command(t, dir, nil, "serve", "--listen", "127.0.0.1:0"))
	t.Cleanup(func() { _ = server.cmd.Process.Kill(); _ = server.cmd.Wait() })
	server.sees("#token=")
	server.sees("\n")
	token := e2etest.RunCommand(t, dir, nil, "token")
	if token.Code != e2etest.ExitOK {
		t.Fatalf("a token without a name: %+v", token)
	}
	named := func(token string) any {
		t.Helper()
		var claims map[string]any
		text, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
		if err == nil {
			err = json.Unmarshal(text, &claims)
		}
		if err != nil {
			t.Fatalf("%s: %v", token, err)
		}
		return claims["sub"]
	}
	said := regexp.MustCompile(`To sign in as (\S+), open (\S+)/#token=(\S+)`).FindStringSubmatch(server.seen.String())
	if said == nil || named(said[3]) != said[1] || named(token.Stdout) != said[1] {
		t.Fatalf("%q, and a token of %v", said, named(token.Stdout))
	}
	if got := e2etest.RunCommand(t, dir, []string{"PARLEY_SERVER=" + said[2], "PARLEY_TOKEN=" + said[3]}, "datasets"); got.Code != e2etest.ExitOK {
		t.Errorf("%+v", got)
	}
}

func TestUnknownVariables(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), []string{"PARLEY_DATABSE_URL=postgres://x", "PARLEY_MIGRATE=false"})
	if log := p.Log.String(); !strings.Contains(log, "PARLEY_DATABSE_URL") || strings.Contains(log, "PARLEY_MIGRATE") {
		t.Errorf("log:\n%s", log)
	}
}

func TestVersionAndHelp(t *testing.T) {
	t.Parallel()
	if got := e2etest.RunCommand(t, t.TempDir(), nil, "version"); got.Code != e2etest.ExitOK || !strings.HasPrefix(got.Stdout, "parley ") {
		t.Errorf("version: %+v", got)
	}
	for _, args := range [][]string{nil, {"--help"}} {
		if got := e2etest.RunCommand(t, t.TempDir(), nil, args...); got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, "serve") {
			t.Errorf("%v: %+v", args, got)
		}
	}
}
