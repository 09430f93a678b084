package sqlstore_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

// BenchmarkFailedPush claims and releases a config after a failure, as a sender does with each
// failed delivery, among many configs of which all have something to send.
func BenchmarkFailedPush(b *testing.B) {
	for _, configs := range []int{1_000, 16_000} {
		for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
			b.Run(fmt.Sprintf("store=%s/configs=%d", name, configs), func(b *testing.B) {
				w := newWorld(b, open(b))
				w.addPushes(configs)
				due, err := w.DuePushes(b.Context(), "host", nil, 100)
				w.must(err)
				for i := 0; b.Loop(); i++ {
					push := due[i%len(due)]
					again, err := w.DuePushes(b.Context(), "host", []string{push.RunID}, 100)
					w.must(err)
					claimed, err := w.ClaimPushes(b.Context(), "host", again)
					w.must(err)
					for _, push := range claimed {
						w.must(w.ReleasePush(b.Context(), "host", push, storage.PushResult{Failed: true, Pause: -time.Second}))
					}
				}
				b.StopTimer()
				start := time.Now()
				for range 20 {
					_, err := w.DuePushes(b.Context(), "host", nil, 100)
					w.must(err)
				}
				b.ReportMetric(float64(time.Since(start).Microseconds())/20/1000, "ms/search")
			})
		}
	}
}

// addPushes adds configs of runs of alice's, ten each, with an event to send.
func (w world) addPushes(count int) {
	w.t.Helper()
	for range count / storage.MaxPushConfigs {
		run := w.ask(user("alice"), "ns", uuid.NewString(), "?").RunID
		w.must(sqlstoretest.Append(w, step(run, 0, 1)))
		w.must(w.Exec(w.t.Context(), `
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 10)
INSERT INTO push_configs (run_id, id, url, receiver, scheme, secrets, modes, version, position, holder, due_at, failures, failing_since, ended, created_at, owner)
SELECT CAST($1 AS TEXT), CAST(n AS TEXT), 'https://example.com', 'example.com', '', '', '', '', 0, '', 0, 0, 0, FALSE, 0, 'alice' FROM numbers`, run))
	}
}
