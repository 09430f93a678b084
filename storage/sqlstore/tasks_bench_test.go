package sqlstore_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
)

// BenchmarkListTasks lists a task of a user who has a hundred with results of a
// megabyte, and of one whose results are small: they should take the same time.
func BenchmarkListTasks(b *testing.B) {
	for name, size := range map[string]int{"small": 10, "large": 1 << 20} {
		b.Run("results="+name, func(b *testing.B) {
			store := sqlstoretest.SQLite(b)
			alice := domain.Caller{Username: "alice"}
			if err := store.CreateDataset(b.Context(), alice, "shop", "orders", domain.Definition{}); err != nil {
				b.Fatal(err)
			}
			result := json.RawMessage(`{"response":"` + string(bytes.Repeat([]byte("x"), size)) + `","steps":[]}`)
			for range 100 {
				run, err := sqlstoretest.Ask(b.Context(), store, alice, domain.Question{ConversationID: uuid.NewString(),
					Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Agent: "assistant", Text: "How many?"})
				if err == nil {
					err = sqlstoretest.Finish(b.Context(), store, alice, run.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: result})
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				if _, total, err := store.Tasks(b.Context(), alice, domain.TaskFilter{Agent: "assistant", Limit: 1}); err != nil || total != 100 {
					b.Fatal(total, err)
				}
			}
		})
	}
}
