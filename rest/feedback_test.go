package rest_test

import (
	"encoding/base64"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/tracetest"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/sqlstore"
	"parley/storage/trace"
)

// newRatedService is a service with a stand-in for Langfuse, and a run to rate.
func newRatedService(t *testing.T, store *sqlstore.Store, timeout time.Duration) (*service, *tracetest.Langfuse) {
	t.Helper()
	langfuse := tracetest.NewLangfuse(t)
	s := newService(t, store, func(cfg *rest.Config) {
		cfg.Rate = trace.NewFeedback(trace.FeedbackConfig{
			Records: store, Log: slog.New(slog.DiscardHandler),
			Langfuse: trace.NewLangfuse(trace.LangfuseConfig{
				Host: langfuse.URL, PublicKey: tracetest.PublicKey, SecretKey: tracetest.SecretKey, Timeout: timeout}),
		}).Rate
	})
	s.haveConversation()
	return s, langfuse
}

func (s *service) rate(run, body string) answer {
	s.t.Helper()
	return s.send("alice", http.MethodPost, "/query/runs/"+s.vars[run]+"/feedback", "application/json", body)
}

func TestFeedbackGoesToTheTracingStore(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s, langfuse := newRatedService(t, store, time.Minute)
		if got := s.rate("running", `{"thumbsUp":true}`); got.status != http.StatusUnprocessableEntity {
			t.Errorf("a running run: %d %s", got.status, got.body)
		}
		if calls := langfuse.Calls(); len(calls) > 0 {
			t.Errorf("Langfuse was asked about it: %v", calls)
		}
		for _, body := range []string{`{"thumbsUp":true,"comment":"yes"}`, `{"thumbsUp":false}`} {
			if got := s.rate("completed", body); got.status != http.StatusNoContent || got.body != "" {
				t.Fatalf("%s: %d %s", body, got.status, got.body)
			}
		}
		scores := langfuse.Scores()
		if len(scores) != 1 || scores[0].Value != 0 || scores[0].Comment != "" || scores[0].TraceID != strings.ReplaceAll(s.vars["completed"], "-", "") {
			t.Errorf("Langfuse has %+v", scores)
		}
	})
}

// TestFeedbackWithoutItsTracingStore answers 502, records nothing and keeps the
// keys out of the answer and the log.
func TestFeedbackWithoutItsTracingStore(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString([]byte(tracetest.PublicKey + ":" + tracetest.SecretKey))
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s, langfuse := newRatedService(t, store, time.Second)
		for _, mode := range tracetest.Failures {
			langfuse.Behave(mode)
			s.checkError(string(mode), s.rate("completed", `{"thumbsUp":true,"comment":"a secret of alice's"}`), http.StatusBadGateway, "TRACING_UNAVAILABLE")
		}
		if _, err := store.Rating(t.Context(), domain.Caller{Username: "alice"}, s.vars["completed"]); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("something was recorded: %v", err)
		}
		s.server.Close() // and with it, all that logs
		log := s.log.String()
		if strings.Contains(log, secret) || strings.Contains(log, tracetest.SecretKey) || strings.Contains(log, "a secret of alice's") {
			t.Errorf("the log tells a secret:\n%s", log)
		}
		if !strings.Contains(log, "does not take these keys") {
			t.Errorf("the log does not say that the keys are wrong:\n%s", log)
		}
	})
}

// TestCommentLimit counts characters, not bytes.
func TestCommentLimit(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.haveConversation()
		for _, clef := range []string{"𝄞", `\ud834\udd1e`} {
			for count, want := range map[int]int{10_000: http.StatusNoContent, 10_001: http.StatusUnprocessableEntity} {
				if got := s.rate("completed", `{"thumbsUp":true,"comment":"`+strings.Repeat(clef, count)+`"}`); got.status != want {
					t.Errorf("%d characters: got %d %s, want %d", count, got.status, got.body, want)
				}
			}
		}
	})
}
