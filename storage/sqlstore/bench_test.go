package sqlstore_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// stores are the configurations of an empty store on each database.
var stores = map[string]func(b *testing.B) sqlstore.Config{
	"sqlite": func(b *testing.B) sqlstore.Config {
		return sqlstore.Config{Path: filepath.Join(b.TempDir(), "parley.db")}
	},
	"postgres": func(b *testing.B) sqlstore.Config { return sqlstore.Config{DatabaseURL: pgtest.URL(b)} },
}

// BenchmarkAppend has clients write runs of four events, none of which waits for
// the one before; each waits for the last.
func BenchmarkAppend(b *testing.B) {
	for name, config := range stores {
		b.Run("store="+name, func(b *testing.B) {
			benchtest.Each(b, "clients", benchtest.Sizes(32, benchtest.Clients...), func(b *testing.B, clients int) {
				f := newBench(b, config(b), runsOfUser)
				b.ResetTimer()
				b.ReportMetric(f.appending(b, clients, b.N), "runs/s")
			})
		})
	}
}

// BenchmarkLog writes and reads beside a log of so many events: runs of four
// events by 32 clients, once to warm up and once on the clock, and one
// reader of a task, of all that was said in it, and of a list of conversations.
func BenchmarkLog(b *testing.B) {
	for name, config := range stores {
		b.Run("store="+name, func(b *testing.B) {
			benchtest.Each(b, "events", benchtest.Sizes(1000, 1000, 10_000, 100_000, 1_000_000), func(b *testing.B, count int) {
				f := newBench(b, config(b), count/weekEvents)
				syscall.Sync() // what filling has left is nobody's time
				appends := benchtest.Sizes(300, 3000)[0]
				f.appending(b, 32, appends)
				for b.Loop() {
					b.ReportMetric(f.appending(b, 32, appends), "runs/s")
					for what, read := range reads {
						b.ReportMetric(benchtest.Micros(f.reading(read)), what+"-µs")
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		})
	}
}

// reads are how a user reads one of their runs.
var reads = map[string]func(f bench, caller domain.Caller, run domain.Task) error{
	"task": func(f bench, caller domain.Caller, run domain.Task) error {
		_, err := f.Task(f.tb.Context(), caller, "", run.RunID, true)
		return err
	},
	"events": func(f bench, caller domain.Caller, run domain.Task) error {
		for after := int64(0); after < weekEvents; {
			page, err := f.Events(f.tb.Context(), caller, run.RunID, after)
			if err != nil || len(page) == 0 {
				return fmt.Errorf("%d events after %d: %w", len(page), after, err)
			}
			after = page[len(page)-1].Number
		}
		return nil
	},
	"conversations": func(f bench, caller domain.Caller, _ domain.Task) error {
		_, err := f.Conversations(f.tb.Context(), caller, domain.NamespaceRef{})
		return err
	},
}

// reading returns how long a read of some user's run takes, the middle one of many.
func (f bench) reading(read func(f bench, caller domain.Caller, run domain.Task) error) time.Duration {
	took := make([]time.Duration, readsOfEach)
	for i := range took {
		// The first user writes more.
		caller := user(fmt.Sprint("user", 1+i*7919%(f.users-1)))
		tasks, _, err := f.Tasks(f.tb.Context(), caller, domain.TaskFilter{Agent: "nl2ql", Limit: 10})
		if err != nil || len(tasks) == 0 {
			f.tb.Fatalf("%d tasks, %v", len(tasks), err)
		}
		start := time.Now()
		if err := read(f, caller, tasks[0]); err != nil {
			f.tb.Fatal(err)
		}
		took[i] = time.Since(start)
	}
	return benchtest.Percentile(took, 50)
}

// appending has clients write so many runs, and gives how many they wrote in a
// second.
func (f bench) appending(b *testing.B, clients, runs int) float64 {
	var left atomic.Int64
	left.Store(int64(runs))
	var all sync.WaitGroup
	start := time.Now()
	for range clients {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := benchRun(b, f.Store, user("user0")); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	return float64(runs) / time.Since(start).Seconds()
}

func benchRun(b *testing.B, store *sqlstore.Store, caller domain.Caller) error {
	question := domain.Question{
		Agent: "echo", Namespace: nsRef("user0", "ns"), ConversationID: uuid.Must(uuid.NewV7()).String(), Text: "How many orders were there?"}
	change, err := sqlstoretest.Start(b.Context(), store, caller, question)
	if err != nil {
		return err
	}
	change.Start.Message = domain.SentMessage{Key: domain.NewID(), Digest: "0123456789012345678901"}
	change.Snapshot = json.RawMessage(`{"id":"` + change.RunID + `","contextId":"` + question.ConversationID + `","history":["` + strings.Repeat("x", 300) + `"]}`)
	store.Append(change, func(error) {})
	written := make(chan error, 1)
	change.Start = nil
	for number := int64(1); number <= 4; number++ {
		change.After, change.Events = number-1, events(number-1, 1)
		done := func(error) {}
		if number == 4 {
			change.Outcome = &domain.RunOutcome{Status: domain.RunCompleted, Result: json.RawMessage(`{"response":"Two.","steps":[]}`)}
			done = func(err error) { written <- err }
		}
		store.Append(change, done)
	}
	return <-written
}
