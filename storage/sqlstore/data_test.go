package sqlstore_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

var (
	oneColumn  = []domain.Column{{Name: "id", Type: "BIGINT"}}
	twoColumns = []domain.Column{{Name: "id", Type: "BIGINT"}, {Name: "name", Type: "VARCHAR"}}
)

// data reads alice's dataset one.
func (w world) data() domain.DatasetData {
	w.t.Helper()
	data, err := w.DatasetData(w.t.Context(), user("alice"), dsRef("alice", "ns", "one"))
	w.must(err)
	return data
}

// file lists a new object as orphaned and gives the file it is to be.
func (w world) file(rows int64) domain.DataFile {
	w.t.Helper()
	id := uuid.Must(uuid.NewV7()).String()
	file := domain.DataFile{ID: id, Key: "datasets/" + id, Rows: rows, Bytes: rows * 10, SHA256: "x"}
	w.must(w.AddOrphanedObjects(w.t.Context(), []string{file.Key}, time.Hour))
	return file
}

// orphans lists the objects that will be removed in the end.
func (w world) orphans() []string {
	w.t.Helper()
	keys, err := w.OrphanedObjects(w.t.Context(), 24*time.Hour, 1000)
	w.must(err)
	return keys
}

func TestVersions(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, id := t.Context(), w.data().ID

		first := w.file(3)
		w.must(w.CommitVersion(ctx, domain.VersionChange{Caller: user("alice"), DatasetID: id, Columns: oneColumn, Add: []domain.DataFile{first}}))
		data := w.data()
		if data.RowCount != 3 || !slices.Equal(data.Columns, oneColumn) || len(data.Files) != 1 || data.Files[0] != first || len(w.orphans()) != 0 {
			t.Errorf("after the first: %+v, orphaned %v", data, w.orphans())
		}

		second := w.file(2)
		change := domain.VersionChange{Caller: user("alice"), DatasetID: id, Have: twoColumns, Columns: twoColumns, Add: []domain.DataFile{second}}
		if err := w.CommitVersion(ctx, change); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("made for other columns: %v", err)
		}
		if len(w.data().Files) != 1 || !slices.Equal(w.orphans(), []string{second.Key}) {
			t.Errorf("after a conflict: %+v, orphaned %v", w.data(), w.orphans())
		}
		change.Have = oneColumn
		w.must(w.CommitVersion(ctx, change))
		if data := w.data(); data.RowCount != 5 || len(data.Files) != 2 || len(data.Columns) != 2 {
			t.Errorf("after the second: %+v", data)
		}

		// Many files become one: the same rows.
		merged := w.file(5)
		compact := domain.VersionChange{Caller: user("alice"), DatasetID: id, Have: twoColumns, Columns: twoColumns,
			Add: []domain.DataFile{merged}, Drop: []domain.DataFile{first, second}}
		w.must(w.CommitVersion(ctx, compact))
		if data := w.data(); data.RowCount != 5 || len(data.Files) != 1 || len(w.orphans()) != 2 {
			t.Errorf("after compaction: %+v, orphaned %v", data, w.orphans())
		}
		compact.Add = []domain.DataFile{w.file(5)}
		if err := w.CommitVersion(ctx, compact); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("drop what is gone: %v", err)
		}

		replaced := w.file(1)
		w.must(w.CommitVersion(ctx, domain.VersionChange{Caller: user("alice"), DatasetID: id, Columns: oneColumn, Replace: true, Add: []domain.DataFile{replaced}}))
		if data := w.data(); data.RowCount != 1 || len(data.Files) != 1 || data.Files[0].Key != replaced.Key {
			t.Errorf("after replacing: %+v", data)
		}

		w.must(w.ClearDataset(ctx, user("alice"), dsRef("alice", "ns", "one")))
		if data := w.data(); data.RowCount != 0 || len(data.Files) != 0 || len(data.Columns) != 0 || !slices.Contains(w.orphans(), replaced.Key) {
			t.Errorf("after clearing: %+v, orphaned %v", data, w.orphans())
		}

		last := w.file(1)
		w.must(w.CommitVersion(ctx, domain.VersionChange{Caller: user("alice"), DatasetID: id, Columns: oneColumn, Add: []domain.DataFile{last}}))
		w.must(w.DeleteNamespace(ctx, user("alice"), nsRef("alice", "ns"), true))
		if !slices.Contains(w.orphans(), last.Key) {
			t.Errorf("after deleting: orphaned %v", w.orphans())
		}
		if err := w.CommitVersion(ctx, domain.VersionChange{Caller: user("alice"), DatasetID: id, Replace: true}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("commit to what is gone: %v", err)
		}
		for _, key := range w.orphans() {
			w.must(w.ForgetOrphanedObject(ctx, key))
		}
		if len(w.orphans()) != 0 {
			t.Errorf("still orphaned: %v", w.orphans())
		}
	})
}

// TestCommitIsForWhoMayWrite has callers commit who may not, or no longer, and
// into another dataset than the ingestion's.
func TestCommitIsForWhoMayWrite(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, one := t.Context(), w.data().ID
		w.must(w.ShareDataset(ctx, user("alice"), dsRef("alice", "ns", "one"), domain.Grant{Username: "viewer", Role: domain.Viewer}))
		for name, want := range map[string]error{"viewer": domain.ErrForbidden, "stranger": domain.ErrNotFound} {
			change := domain.VersionChange{Caller: user(name), DatasetID: one, Columns: oneColumn, Add: []domain.DataFile{w.file(1)}}
			if err := w.CommitVersion(ctx, change); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		}
		id := w.ingest(1)
		job, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		two, err := w.DatasetData(ctx, user("alice"), dsRef("alice", "ns", "two"))
		w.must(err)
		change := domain.VersionChange{Caller: job.Caller, DatasetID: two.ID, Columns: oneColumn, Add: []domain.DataFile{w.file(1)},
			Ingestion: &domain.IngestionEnd{ID: id, Lease: job.Lease, Rows: 1}}
		if err := w.CommitVersion(ctx, change); err == nil {
			t.Error("an ingestion was completed by another dataset's rows")
		}
		overdue := domain.DataFile{ID: uuid.NewString(), Key: "datasets/overdue", Rows: 1}
		w.must(w.AddOrphanedObjects(ctx, []string{overdue.Key}, 0))
		change = domain.VersionChange{Caller: user("alice"), DatasetID: one, Columns: oneColumn, Add: []domain.DataFile{overdue}}
		if err := w.CommitVersion(ctx, change); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("a file that may be being removed: %v", err)
		}
		if got := w.data(); got.RowCount != 0 {
			t.Errorf("in the end: %+v", got)
		}
	})
}

// TestParallelAppendsAllCount has writers append at once: every row counts.
func TestParallelAppendsAllCount(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		id := w.data().ID
		w.must(w.CommitVersion(t.Context(), domain.VersionChange{Caller: user("alice"), DatasetID: id, Columns: oneColumn}))
		files := make([]domain.DataFile, writers)
		for i := range files {
			files[i] = w.file(int64(i))
		}
		together(func(i int) {
			change := domain.VersionChange{Caller: user("alice"), DatasetID: id, Have: oneColumn, Columns: oneColumn, Add: files[i : i+1]}
			if err := w.CommitVersion(t.Context(), change); err != nil {
				t.Error(err)
			}
		})
		if data := w.data(); data.RowCount != writers*(writers-1)/2 || len(data.Files) != writers {
			t.Errorf("rows %d in %d files", data.RowCount, len(data.Files))
		}
	})
}

func TestUnnamedObjects(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		kept, dropped, orphan := w.file(1), w.file(2), w.file(3)
		change := domain.VersionChange{Caller: user("alice"), DatasetID: w.data().ID, Columns: oneColumn, Add: []domain.DataFile{kept, dropped}}
		w.must(w.CommitVersion(t.Context(), change))
		change.Have, change.Add, change.Drop = oneColumn, nil, []domain.DataFile{dropped}
		w.must(w.CommitVersion(t.Context(), change))
		keys := []string{kept.Key, dropped.Key, orphan.Key}
		for i := range 1000 { // more than fit into a statement
			keys = append(keys, fmt.Sprint("datasets/none/", i))
		}
		got, err := w.UnnamedObjects(t.Context(), keys)
		if err != nil || len(got) != 1002 || slices.Contains(got, kept.Key) {
			t.Errorf("%d objects, %v", len(got), err)
		}
		if got, err := w.UnnamedObjects(t.Context(), nil); err != nil || len(got) != 0 {
			t.Errorf("of none: %v, %v", got, err)
		}
	})
}

func TestNamespaceDataShowsWhatMayBeRead(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		w.must(w.ShareDataset(ctx, user("alice"), dsRef("alice", "ns", "two"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		names := func(caller domain.Caller) string {
			all, err := w.NamespaceData(ctx, caller, nsRef("alice", "NS"))
			if err != nil {
				return fmt.Sprint(errors.Is(err, domain.ErrNotFound))
			}
			var names []string
			for _, d := range all {
				names = append(names, d.Name)
			}
			slices.Sort(names)
			return fmt.Sprint(names)
		}
		for caller, want := range map[domain.Caller]string{
			user("alice"): "[one two]", user("bob"): "[two]", user("carol"): "true",
			w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"}): "[one]",
		} {
			if got := names(caller); got != want {
				t.Errorf("%+v: got %s, want %s", caller, got, want)
			}
		}
	})
}
