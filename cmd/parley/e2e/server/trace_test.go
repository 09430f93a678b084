package server

import (
	"errors"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/tracetest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// haveRun writes a completed run of alice's to a database that nobody serves
// yet, and gives its id.
func haveRun(t *testing.T, dir string, env []string) string {
	t.Helper()
	if got := e2etest.RunCommand(t, dir, env, "migrate"); got.Code != e2etest.ExitOK {
		t.Fatalf("migrate: %+v", got)
	}
	cfg := sqlstore.Config{Path: filepath.Join(dir, "parley-data", "parley.db")}
	for _, setting := range env {
		if url, ok := strings.CutPrefix(setting, "PARLEY_DATABASE_URL="); ok {
			cfg.DatabaseURL = url
		}
	}
	ctx, alice := t.Context(), domain.Caller{Username: "alice"}
	store, err := sqlstore.Open(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	var asked domain.Question
	if err = store.CreateDataset(ctx, alice, "shop", "orders", domain.Definition{}); err == nil {
		asked, err = sqlstoretest.Ask(ctx, store, alice, domain.Question{
			ConversationID: uuid.NewString(), Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "nl2ql", Text: "How many?",
		})
	}
	if err == nil {
		err = sqlstoretest.Finish(ctx, store, alice, asked.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: []byte(`{}`)})
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
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		dir, langfuse := t.TempDir(), tracetest.NewLangfuse(t)
		path := "/api/v1/query/runs/" + haveRun(t, dir, env) + "/feedback"
		rate := func(p *e2etest.Process, body string, want int) {
			t.Helper()
			if status, text := p.Call(p.Token("alice"), http.MethodPost, path, body); status != want {
				t.Errorf("%s: got %d %s, want %d", body, status, text, want)
			}
		}
		local := e2etest.Serve(t, dir, env)
		rate(local, `{"thumbsUp":true,"comment":"local"}`, http.StatusNoContent)
		local.Signal(syscall.SIGTERM)
		if code := local.Wait(); code != e2etest.ExitOK {
			t.Errorf("exit code %d", code)
		}

		env = append(env, "LANGFUSE_BASE_URL="+langfuse.URL, "LANGFUSE_PUBLIC_KEY="+tracetest.PublicKey, "LANGFUSE_SECRET_KEY="+tracetest.SecretKey)
		first := e2etest.Serve(t, dir, env)
		rate(first, `{"thumbsUp":true,"comment":"first"}`, http.StatusNoContent)
		langfuse.Behave(tracetest.Broken)
		rate(first, `{"thumbsUp":false}`, http.StatusBadGateway)
		first.Signal(syscall.SIGKILL)
		first.Wait()

		langfuse.Behave(tracetest.Well)
		second := e2etest.Serve(t, dir, env)
		rate(second, `{"thumbsUp":false,"comment":"second"}`, http.StatusNoContent)
		if scores := langfuse.Scores(); len(scores) != 1 || scores[0].Value != 0 || scores[0].Comment != "second" {
			t.Errorf("Langfuse has %+v", scores)
		}
		for _, log := range []string{first.Log.String(), second.Log.String()} {
			if strings.Contains(log, tracetest.SecretKey) || strings.Contains(log, "Basic ") {
				t.Errorf("the log tells a secret:\n%s", log)
			}
		}
		second.Signal(syscall.SIGTERM)
		if code := second.Wait(); code != e2etest.ExitOK {
			t.Errorf("exit code %d", code)
		}
	})
}
