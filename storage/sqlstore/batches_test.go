package sqlstore_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// More than a batch is deleted whole, and what belongs to others stays.
func TestDeleteInBatches(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		for i := range 2*sqlstore.RetentionBatch + 1 {
			w.create("alice", "many", fmt.Sprint("d", i))
		}
		if err := w.DeleteNamespace(ctx, alice, nsRef("alice", "many"), false); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("delete a namespace with datasets: got %v, want conflict", err)
		}
		if err := w.DeleteNamespace(ctx, user("bob"), nsRef("alice", "many"), true); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("delete another's namespace: got %v, want not found", err)
		}
		w.must(w.DeleteNamespace(ctx, alice, nsRef("alice", "many"), true))
		if got := w.visible(alice); got != "alice/ns/one alice/ns/two" {
			t.Errorf("left: %q", got)
		}

		conversation := uuid.NewString()
		kept := w.ask(alice, "ns", uuid.NewString(), "How many?")
		for range sqlstore.RetentionBatch + 1 {
			w.ask(alice, "ns", conversation, "How many?")
		}
		w.must(w.DeleteConversation(ctx, alice, conversation))
		if err := w.DeleteConversation(ctx, alice, conversation); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("delete again: got %v, want not found", err)
		}
		if _, err := w.Run(ctx, alice, kept.RunID); err != nil {
			t.Errorf("a run of another conversation: %v", err)
		}
	})
}
