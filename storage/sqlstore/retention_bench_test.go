package sqlstore_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

const (
	week        = 7 * 24 * time.Hour
	weekEvents  = 10 // of a run: a task, seven of status, an artifact, the end
	runsOfUser  = 10
	readsOfEach = 300
)

// BenchmarkRetention keeps a week of runs, of ten events each, trims what is older
// than a day and deletes what is older than three, while runs are asked. It shows how
// long batches held the database, how long the runs that were asked took to be written (p99) with
// retention at work and without, and how long reads take, of what they take in
// a store that has one user: full, and when all is done. Users have ten runs each.
// Run it with -benchtime 1x.
func BenchmarkRetention(b *testing.B) {
	for name, config := range stores {
		b.Run("store="+name, func(b *testing.B) {
			benchtest.Each(b, "runs", benchtest.Sizes(2000, 100_000), func(b *testing.B, runs int) {
				benchmarkRetention(b, config, runs)
			})
		})
	}
}

func benchmarkRetention(b *testing.B, config func(b *testing.B) sqlstore.Config, runs int) {
	for range b.N {
		empty, full := newBench(b, config(b), runsOfUser), newBench(b, config(b), runs)
		compare(b, "full", empty, full)
		b.ReportMetric(benchtest.Millis(full.asking(1000, nil)), "asked-alone-ms")
		done := make(chan struct{})
		var cleanup sync.WaitGroup
		cleanup.Go(func() {
			defer close(done)
			full.retain(b)
		})
		b.ReportMetric(benchtest.Millis(full.asking(0, done)), "asked-ms")
		cleanup.Wait()
		compare(b, "trimmed", empty, full)
	}
}

// bench is a store that is filled.
type bench struct {
	*sqlstore.Store
	tb    testing.TB
	users int
}

// newBench fills a store with runs that were asked over the last week.
func newBench(b *testing.B, cfg sqlstore.Config, runs int) bench {
	b.Helper()
	store := sqlstoretest.Open(b, cfg)
	driver, source, hex := "sqlite", cfg.Path, `printf('%012x', CAST(`
	hexEnd, settle := ` AS BIGINT))`, `PRAGMA wal_checkpoint(TRUNCATE)`
	if cfg.DatabaseURL != "" {
		driver, source, hex, hexEnd, settle = "postgres", cfg.DatabaseURL, `lpad(to_hex(CAST(`, ` AS BIGINT)), 12, '0')`, `VACUUM ANALYZE`
	}
	db, err := sqlx.Open(driver, source)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	run := func(statement string) {
		if _, err := db.Exec(statement); err != nil {
			b.Fatalf("%.80s: %v", statement, err)
		}
	}
	first := time.Now().Add(-week).UnixMilli()
	asked := fmt.Sprintf(`(%d + i * %d)`, first, week.Milliseconds()/int64(runs))
	at, serial := hex+asked+hexEnd, hex+`i`+hexEnd
	id := `substr(` + at + `, 1, 8) || '-' || substr(` + at + `, 9, 4) || '-7000-8000-' || ` + serial
	owner := fmt.Sprintf(`'user' || (i %% %d)`, runs/runsOfUser)
	all := fmt.Sprintf(`WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d) `, runs-1)
	for _, statement := range []string{
		`INSERT INTO namespaces (id, owner, name, created_at) ` + all + `SELECT 'ns' || i, 'user' || i, 'ns', 0 FROM n WHERE i < ` + fmt.Sprint(runs/runsOfUser),
		`INSERT INTO conversations (owner, id, title, created_at, updated_at) ` + all + `SELECT ` + owner + `, 'c' || i, 'How many?', ` + asked + `, ` + asked + ` FROM n`,
		`INSERT INTO runs (id, owner, conversation_id, namespace_id, restriction, agent, question, status, error_message, created_at) ` +
			all + `SELECT ` + id + `, ` + owner + `, 'c' || i, ` + fmt.Sprintf(`'ns' || (i %% %d)`, runs/runsOfUser) + `, '', 'nl2ql', 'How many?', 'completed', '', ` + asked + ` FROM n`,
		`INSERT INTO results (run_id, body) SELECT id, '{}' FROM runs`,
		`INSERT INTO tasks (run_id, owner, agent, open, state, snapshot, last_event, last_node_id, holder, takeovers, updated_at)
SELECT id, owner, agent, FALSE, 'TASK_STATE_COMPLETED', '{"status":"of a size that is usual for the snapshot of a task"}', ` + fmt.Sprint(weekEvents) + `, '', '', 0, created_at FROM runs`,
		`INSERT INTO events (run_id, number, kind, body, created_at)
WITH RECURSIVE e (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM e WHERE k < ` + fmt.Sprint(weekEvents) + `)
SELECT id, k, CASE k WHEN 1 THEN 'task' WHEN 9 THEN 'artifact' ELSE 'status' END,
	'{"statusUpdate":{"status":{"state":"TASK_STATE_WORKING","message":{"parts":[{"text":"a step of what is done, and how far it is by now, in some words"}]}}}}', created_at
FROM runs, e`,
		settle,
	} {
		run(statement)
	}
	return bench{store, b, runs / runsOfUser}
}

// retain removes what is old, and reports how that went.
func (f bench) retain(b *testing.B) {
	start, removed := time.Now(), 0
	var took []time.Duration
	for _, old := range []struct {
		age    time.Duration
		remove func(context.Context, time.Duration) (int, error)
	}{{week / 7, f.TrimEvents}, {3 * week / 7, f.DeleteOldRuns}} {
		for count := sqlstore.RetentionBatch; count == sqlstore.RetentionBatch; {
			began := time.Now()
			var err error
			if count, err = old.remove(b.Context(), old.age); err != nil {
				b.Error(err)
				return
			}
			removed += count
			took = append(took, time.Since(began))
			time.Sleep(time.Since(began)) // as retention does
		}
	}
	began := time.Now()
	if err := f.Reclaim(b.Context()); err != nil {
		b.Error(err)
	}
	b.ReportMetric(time.Since(began).Seconds(), "reclaim-s")
	b.ReportMetric(float64(removed)/time.Since(start).Seconds(), "removed/s")
	b.ReportMetric(time.Since(start).Seconds(), "retain-s")
	for _, n := range []int{50, 99, 100} {
		b.ReportMetric(benchtest.Millis(benchtest.Percentile(took, n)), fmt.Sprintf("batch-p%d-ms", n))
	}
}

// asking asks so many questions, or until done is closed, one after the other,
// and gives how long all but one of a hundred took at most to be written.
func (f bench) asking(count int, done <-chan struct{}) time.Duration {
	var took []time.Duration
	caller := user("user0")
	for done != nil || len(took) < count {
		select {
		case <-done:
			return benchtest.Percentile(took, 99)
		default:
		}
		start := time.Now()
		question := domain.Question{Agent: "nl2ql", Namespace: nsRef("user0", "ns"), Text: "How many?"}
		if _, err := sqlstoretest.Ask(f.tb.Context(), f, caller, question); err != nil {
			f.tb.Error(err)
			break
		}
		took = append(took, time.Since(start))
	}
	return benchtest.Percentile(took, 99)
}

// compare reports how long reads take in one store, of what they take in
// another: the middle one of many, in turns.
func compare(b *testing.B, name string, empty, full bench) {
	for what, read := range map[string]func(f bench, i int) error{
		"task": func(f bench, i int) error {
			tasks, _, err := f.Tasks(b.Context(), f.user(i), domain.TaskFilter{Agent: "nl2ql", Limit: 10})
			if err == nil && len(tasks) > 0 {
				_, err = f.Task(b.Context(), f.user(i), "", tasks[0].RunID, true)
			}
			if err == nil && len(tasks) > 0 {
				_, err = f.Events(b.Context(), f.user(i), tasks[0].RunID, 0)
			}
			return err
		},
		"conversations": func(f bench, i int) error {
			_, err := f.Conversations(b.Context(), f.user(i), domain.NamespaceRef{})
			return err
		},
	} {
		var took [2][]time.Duration
		for i := range readsOfEach {
			for k, f := range []bench{empty, full} {
				start := time.Now()
				if err := read(f, i*7919); err != nil {
					b.Fatal(err)
				}
				took[k] = append(took[k], time.Since(start))
			}
		}
		b.ReportMetric(float64(benchtest.Percentile(took[1], 50))/float64(benchtest.Percentile(took[0], 50)), name+"-"+what+"/empty")
	}
}

func (f bench) user(i int) domain.Caller { return user(fmt.Sprint("user", i%f.users)) }
