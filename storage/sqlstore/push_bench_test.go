package sqlstore_test

import (
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// BenchmarkFailedPush claims and releases a config after a failure, as a sender does with each
// failed delivery, among configs of which all have something to send. It prints how much longer
// that takes among many than among few, and how much longer a search of all takes than it.
func BenchmarkFailedPush(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
		b.Run("store="+name, func(b *testing.B) {
			few, many := newWorld(b, open(b)), newWorld(b, open(b))
			few.addPushes(1_000)
			many.addPushes(16_000)
			var amongFew, amongMany, search time.Duration
			for b.Loop() {
				amongFew += few.failPush()
				amongMany += many.failPush()
				start := time.Now()
				_, err := many.DuePushes(b.Context(), "host", nil, 100)
				many.must(err)
				search += time.Since(start)
			}
			b.ReportMetric(float64(amongMany)/float64(amongFew), "×1000-configs")
			b.ReportMetric(float64(search)/float64(amongMany), "search-of-all/failure")
		})
	}
}

// failPush claims and releases the configs of one run after a failure, and returns the time it took.
func (w world) failPush() time.Duration {
	due, err := w.DuePushes(w.t.Context(), "host", nil, 100)
	w.must(err)
	start := time.Now()
	again, err := w.DuePushes(w.t.Context(), "host", []string{due[0].RunID}, 100)
	w.must(err)
	claimed, err := w.ClaimPushes(w.t.Context(), "host", again)
	w.must(err)
	for _, push := range claimed {
		w.must(w.ReleasePush(w.t.Context(), "host", push, domain.PushResult{Failed: true, Pause: -time.Second}))
	}
	return time.Since(start)
}

// addPushes adds configs of runs of alice's, ten each, with an event to send.
func (w world) addPushes(count int) {
	w.t.Helper()
	for range count / domain.MaxPushConfigs {
		run := w.ask(user("alice"), "ns", uuid.NewString(), "?").RunID
		w.must(sqlstoretest.Append(w, step(run, 0, 1)))
		w.must(w.Exec(w.t.Context(), `
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10)
INSERT INTO push_configs (run_id, id, url, receiver, scheme, secrets, modes, version, position, holder, due_at, failures, failing_since, ended, created_at, owner)
SELECT CAST($1 AS TEXT), CAST(n AS TEXT), 'https://example.com', 'example.com', '', '', '', '', 0, '', 0, 0, 0, FALSE, 0, 'alice' FROM numbers`, run))
	}
}
