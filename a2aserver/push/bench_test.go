package push_test

import (
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// BenchmarkPush sends the four events of each run, of eight users, to a receiver on loopback.
func BenchmarkPush(b *testing.B) {
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
		b.Run(name, func(b *testing.B) {
			w := newWorld(b, open(b))
			to := newReceiver(b, accept)
			sender, _ := w.sender("host")
			users := []string{"a", "b", "c", "d", "e", "f", "g", "h"}
			for _, user := range users {
				w.must(w.CreateDataset(b.Context(), domain.Caller{Username: user}, "shop", "orders", domain.Definition{}))
			}
			for b.Loop() {
				before := len(to.requests())
				for _, user := range users {
					question := domain.Question{
						Agent: "nl2ql", Namespace: domain.NamespaceRef{Owner: user, Name: "shop"}, ConversationID: uuid.NewString(), Text: "?",
						Push: &domain.PushConfig{ID: "a", URL: to.URL, Receiver: user},
					}
					asked, err := sqlstoretest.Ask(b.Context(), w, domain.Caller{Username: user}, question)
					w.must(err)
					w.emit(asked.RunID, 0, 4, true)
					sender.Added(asked.RunID)
				}
				waittest.Until(b, "all came", func() bool { return len(to.requests()) == before+4*len(users) })
			}
			b.ReportMetric(float64(4*len(users)*b.N)/b.Elapsed().Seconds(), "notifications/s")
		})
	}
}
