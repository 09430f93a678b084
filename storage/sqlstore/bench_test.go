package sqlstore_test

import (
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

// BenchmarkAppend has 32 goroutines write runs of four events, none of which
// waits for the one before; each waits for the last.
func BenchmarkAppend(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
		b.Run(name, func(b *testing.B) {
			store := open(b)
			alice := user("alice")
			if err := store.CreateDataset(b.Context(), alice, "ns", "one", storage.Definition{}); err != nil {
				b.Fatal(err)
			}
			var left atomic.Int64
			left.Store(int64(b.N))
			var clients sync.WaitGroup
			b.ResetTimer()
			for range 32 {
				clients.Go(func() {
					for left.Add(-1) >= 0 {
						if err := benchRun(b, store, alice); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			clients.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "runs/s")
		})
	}
}

func benchRun(b *testing.B, store *sqlstore.Store, caller storage.Caller) error {
	question := storage.Question{
		Agent: "echo", Namespace: nsRef("alice", "ns"), ConversationID: uuid.Must(uuid.NewV7()).String(), Text: "How many orders were there?"}
	place, err := store.AskIn(b.Context(), caller, question.Namespace, question.ConversationID)
	if err != nil {
		return err
	}
	change := sqlstoretest.Start(caller, question, place)
	change.Snapshot = json.RawMessage(`{"id":"` + change.RunID + `","contextId":"` + question.ConversationID + `","history":["` + strings.Repeat("x", 300) + `"]}`)
	store.Append(change, func(error) {})
	written := make(chan error, 1)
	change.Start = nil
	for number := int64(1); number <= 4; number++ {
		change.After, change.Events = number-1, events(number-1, 1)
		done := func(error) {}
		if number == 4 {
			change.Outcome = &storage.RunOutcome{Status: storage.RunCompleted, Result: json.RawMessage(`{"response":"Two.","steps":[]}`)}
			done = func(err error) { written <- err }
		}
		store.Append(change, done)
	}
	return <-written
}
