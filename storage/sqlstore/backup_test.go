package sqlstore_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// TestOrphanedObjectsAreKept while somebody copies objects.
func TestOrphanedObjectsAreKept(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.must(w.AddOrphanedObjects(t.Context(), []string{"a", "b"}, -time.Hour))
		if got := w.orphans(); len(got) != 2 {
			t.Fatalf("orphaned: %v", got)
		}
		w.must(w.KeepOrphans(t.Context(), time.Hour))
		w.must(w.KeepOrphans(t.Context(), time.Minute)) // which does not take the hour back
		if got := w.orphans(); len(got) != 0 {
			t.Errorf("orphaned while they are kept: %v", got)
		}
		w.must(w.ExpireLeases(t.Context()))
		if got := w.orphans(); len(got) != 2 {
			t.Errorf("orphaned in the end: %v", got)
		}
	})
}

// TestSnapshot copies a database while it is written to, and finds in the copy
// what was there.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlstoretest.SQLite(t))
	file := w.file(3)
	w.must(w.CommitVersion(t.Context(), domain.VersionChange{Caller: user("alice"), DatasetID: w.data().ID, Columns: oneColumn, Add: []domain.DataFile{file}}))
	written := make(chan error)
	go func() {
		var err error
		for i := range 20 {
			err = errors.Join(err, w.AddOrphanedObjects(t.Context(), []string{fmt.Sprint(i)}, 0))
		}
		written <- err
	}()
	to := filepath.Join(t.TempDir(), "copy.db")
	w.must(w.Snapshot(t.Context(), to))
	w.must(<-written)
	if err := w.Snapshot(t.Context(), to); err == nil {
		t.Error("a file that was there was written over")
	}
	copied := open(t, sqlstore.Config{Path: to})
	w.must(copied.CheckIntegrity(t.Context()))
	var keys []string
	w.must(copied.EachObject(t.Context(), func(o sqlstore.StoredObject) error {
		keys = append(keys, o.Key)
		return nil
	}))
	if !slices.Equal(keys, []string{file.Key}) {
		t.Errorf("kept: %v", keys)
	}
}
