package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
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

// A namespace has at most a thousand datasets, and queries read at most 8 MiB of what describes
// them.
func TestNamespaceLimits(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	w := newWorld(t, store)
	ctx, alice := t.Context(), user("alice")
	for i := range 1000 {
		w.create("alice", "many", fmt.Sprint("d", i))
	}
	if err := w.CreateDataset(ctx, alice, "many", "more", domain.Definition{}); !errors.Is(err, domain.ErrTooMany) {
		t.Errorf("one more: got %v, want too many", err)
	}
	if all, err := w.NamespaceData(ctx, alice, nsRef("alice", "many")); err != nil || len(all) != 1000 {
		t.Errorf("read: %d, %v", len(all), err)
	}
	schema := map[string]string{}
	for i := range 1000 {
		schema[fmt.Sprint("field", i)] = strings.Repeat("x", 1000)
	}
	for i := range 9 {
		w.must(w.CreateDataset(ctx, alice, "large", fmt.Sprint("d", i), domain.Definition{Schema: schema}))
	}
	_, err := w.NamespaceData(ctx, alice, nsRef("alice", "large"))
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "move datasets to another namespace") {
		t.Errorf("read long descriptions: got %v, want invalid", err)
	}
	if _, err := w.DatasetData(ctx, alice, dsRef("alice", "large", "d1")); err != nil {
		t.Errorf("read one of them: %v", err)
	}
}
