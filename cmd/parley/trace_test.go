package main

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
	"parley/storage/trace/tracetest"
)

// haveRun writes a completed run of alice's to a database that nobody serves
// yet, and gives its id.
func haveRun(t *testing.T, dir string, env []string) string {
	t.Helper()
	if got := runCommand(t, dir, env, "migrate"); got.code != exitOK {
		t.Fatalf("migrate: %+v", got)
	}
	cfg := sqlstore.Config{Path: filepath.Join(dir, "parley-data", "parley.db")}
	for _, setting := range env {
		if url, ok := strings.CutPrefix(setting, "PARLEY_DATABASE_URL="); ok {
			cfg.DatabaseURL = url
		}
	}
	ctx, alice := t.Context(), storage.Caller{Username: "alice"}
	store, err := sqlstore.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var asked storage.Asking
	if err = store.CreateDataset(ctx, alice, "shop", "orders", storage.Definition{}); err == nil {
		asked, err = sqlstoretest.Ask(ctx, store, alice, storage.Question{
			ConversationID: uuid.NewString(), Namespace: storage.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "nl2ql", Text: "How many?",
		})
	}
	if err == nil {
		err = sqlstoretest.Finish(ctx, store, alice, asked.RunID, storage.RunOutcome{Status: storage.RunCompleted, Result: []byte(`{}`)})
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return asked.RunID
}

// TestFeedback rates a run, with and without Langfuse, through kills and
// restarts.
func TestFeedback(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, env []string) {
		dir, langfuse := t.TempDir(), tracetest.NewLangfuse(t)
		path := "/api/v1/query/runs/" + haveRun(t, dir, env) + "/feedback"
		rate := func(p *process, body string, want int) {
			t.Helper()
			if status, text := p.call(p.token("alice"), http.MethodPost, path, body); status != want {
				t.Errorf("%s: got %d %s, want %d", body, status, text, want)
			}
		}
		local := serve(t, dir, env)
		rate(local, `{"thumbsUp":true,"comment":"local"}`, http.StatusNoContent)
		local.signal(syscall.SIGTERM)
		if code := local.wait(); code != exitOK {
			t.Errorf("exit code %d", code)
		}

		env = append(env, "LANGFUSE_BASE_URL="+langfuse.URL, "LANGFUSE_PUBLIC_KEY="+tracetest.PublicKey, "LANGFUSE_SECRET_KEY="+tracetest.SecretKey)
		first := serve(t, dir, env)
		rate(first, `{"thumbsUp":true,"comment":"first"}`, http.StatusNoContent)
		langfuse.Behave(tracetest.Broken)
		rate(first, `{"thumbsUp":false}`, http.StatusBadGateway)
		first.signal(syscall.SIGKILL)
		first.wait()

		langfuse.Behave(tracetest.Well)
		second := serve(t, dir, env)
		rate(second, `{"thumbsUp":false,"comment":"second"}`, http.StatusNoContent)
		if scores := langfuse.Scores(); len(scores) != 1 || scores[0].Value != 0 || scores[0].Comment != "second" {
			t.Errorf("Langfuse has %+v", scores)
		}
		for _, log := range []string{first.log.String(), second.log.String()} {
			if strings.Contains(log, tracetest.SecretKey) || strings.Contains(log, "Basic ") {
				t.Errorf("the log tells a secret:\n%s", log)
			}
		}
		second.signal(syscall.SIGTERM)
		if code := second.wait(); code != exitOK {
			t.Errorf("exit code %d", code)
		}
	})
}

// TestWhereTracesGo reads settings that agree, in all their spellings.
func TestWhereTracesGo(t *testing.T) {
	t.Parallel()
	langfuse := []string{"--langfuse-host", "https://langfuse.example/", "--langfuse-public-key", "pk", "--langfuse-secret-key", "sk"}
	const basic = "Basic cGs6c2s=" // pk:sk
	for name, test := range map[string]struct {
		args          []string
		scores        bool
		endpoint      string
		authorization string
	}{
		"nowhere":   {nil, false, "", ""},
		"Langfuse":  {langfuse, true, "https://langfuse.example/api/public/otel/v1/traces", basic},
		"collector": {[]string{"--otel-exporter-otlp-endpoint", "http://collector:4318/"}, false, "http://collector:4318/v1/traces", ""},
		"both": {append(langfuse, "--otel-exporter-otlp-endpoint", "http://collector:4318", "--otel-exporter-otlp-headers", "Authorization=Bearer%20x, a=b"),
			true, "http://collector:4318/v1/traces", "Bearer x"},
		"a whole address": {append(langfuse, "--otel-exporter-otlp-endpoint", "http://one", "--otel-exporter-otlp-traces-endpoint", "http://two/traces"),
			true, "http://two/traces", ""},
	} {
		var line cli
		parser, err := kong.New(&line)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := parser.Parse(append([]string{"serve"}, test.args...)); err != nil {
			t.Fatal(err)
		}
		c := &checker{}
		cfg := line.Serve.traceSettings.read(c)
		if err := c.err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if (cfg.langfuse != nil) != test.scores || (cfg.tracer != nil) != (test.endpoint != "") {
			t.Errorf("%s: got %+v", name, cfg)
		}
		if cfg.tracer != nil && (cfg.tracer.Endpoint != test.endpoint || cfg.tracer.Headers["Authorization"] != test.authorization ||
			cfg.tracer.Resource["service.name"] != "parley" || cfg.tracer.Content) {
			t.Errorf("%s: got %+v", name, cfg.tracer)
		}
	}
}
