package sqlstore_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// ingest starts an ingestion of newly uploaded files into alice's dataset one.
func (w world) ingest(files int) string {
	w.t.Helper()
	session := w.uploaded(user("alice"), files)
	started := domain.NewIngestion{ID: uuid.NewString(), Mode: domain.IngestAppend}
	for _, file := range session.Files {
		started.Files = append(started.Files, domain.IngestFile{SessionID: session.ID, FileID: file.ID})
	}
	w.must(w.StartIngestion(w.t.Context(), user("alice"), dsRef("alice", "ns", "one"), started))
	return started.ID
}

// ingestion reads one of alice's dataset one.
func (w world) ingestion(id string) domain.Ingestion {
	w.t.Helper()
	list, err := w.Ingestions(w.t.Context(), user("alice"), dsRef("alice", "ns", "one"), time.Now().Add(time.Hour), 100)
	w.must(err)
	for _, ingestion := range list {
		if ingestion.ID == id {
			return ingestion
		}
	}
	w.t.Fatalf("no ingestion %s in %+v", id, list)
	return domain.Ingestion{}
}

// TestIngestionsOfAMillisecond reads pages of ingestions by their times, of which
// several are the same: none is lost, and none comes twice.
func TestIngestionsOfAMillisecond(t *testing.T) {
	t.Parallel()
	at := time.UnixMilli(1_900_000_000_000)
	store := sqlstoretest.Open(t, sqlstore.Config{Path: filepath.Join(t.TempDir(), "parley.db"), Now: func() time.Time { return at }})
	w := newWorld(t, store)
	for _, together := range []int{2, 1, 3, 1} {
		for range together {
			w.ingest(1)
		}
		at = at.Add(time.Millisecond)
	}
	var pages []int
	seen := map[string]bool{}
	for before := at; ; {
		page, err := w.Ingestions(t.Context(), user("alice"), dsRef("alice", "ns", "one"), before, 2)
		w.must(err)
		if len(page) == 0 {
			break
		}
		for _, ingestion := range page {
			seen[ingestion.ID] = true
			before = ingestion.CreatedAt
		}
		pages = append(pages, len(page))
	}
	if !slices.Equal(pages, []int{4, 3}) || len(seen) != 7 {
		t.Errorf("pages of %v, %d in all", pages, len(seen))
	}
}

// TestKeptFiles lists the files of an ingestion for who uploaded them alone.
func TestKeptFiles(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		one := dsRef("alice", "ns", "one")
		w.must(w.ShareDataset(t.Context(), user("alice"), one, domain.Grant{Username: "eve", Role: domain.Editor}))
		w.ingest(2)
		for username, files := range map[string]int{"alice": 2, "eve": 0} {
			list, err := w.Ingestions(t.Context(), user(username), one, time.Now().Add(time.Hour), 100)
			w.must(err)
			if len(list) != 1 || len(list[0].Files) != files {
				t.Errorf("%s sees %+v", username, list)
			}
		}
		for username, role := range map[string]domain.Role{"alice": domain.Owner, "eve": domain.Editor} {
			dataset, err := w.Dataset(t.Context(), user(username), one)
			w.must(err)
			if got := dataset.Access.Strongest(); got != role {
				t.Errorf("%s is %s", username, got)
			}
		}
	})
}

func TestIngestionLife(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		if _, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("nothing to do: %v", err)
		}
		id := w.ingest(2)
		if got := w.ingestion(id); got.Status != domain.IngestionPending || got.Name != "file0.csv and 1 more" || got.ExpectedBytes != 40 {
			t.Errorf("started: %+v", got)
		}
		job, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		if job.ID != id || len(job.Files) != 2 || job.DatasetID != w.data().ID || job.Caller != user("alice") {
			t.Errorf("claimed: %+v", job)
		}
		if _, err := w.ClaimIngestion(ctx, "another", time.Hour, false, nil); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("claimed twice: %v", err)
		}
		w.must(w.RenewIngestion(ctx, job, time.Hour, 7, 3))
		if got := w.ingestion(id); got.Status != domain.IngestionProcessing || got.ProcessedBytes != 7 || got.ProcessedRows != 3 {
			t.Errorf("at work: %+v", got)
		}

		change := domain.VersionChange{Caller: job.Caller, DatasetID: w.data().ID, Columns: oneColumn, Add: []domain.DataFile{w.file(5)},
			Ingestion: &domain.IngestionEnd{ID: id, Lease: job.Lease, Rows: 5, Report: domain.IngestReport{
				Encoding: "utf-16", HeaderRow: 2, Columns: []domain.ColumnReport{{Name: "n", Type: "BIGINT", Unit: "€", MisfitLines: []int64{7}}},
				Warnings: []domain.IngestWarning{{Line: 3, Message: "NUL: \x00"}},
			}}}
		w.must(w.CommitVersion(ctx, change))
		if got := w.ingestion(id); got.Status != domain.IngestionCompleted || got.ProcessedBytes != 40 || got.ProcessedRows != 5 || got.StatusMessage != "" ||
			!reflect.DeepEqual(got.Report, change.Ingestion.Report) {
			t.Errorf("completed: %+v", got)
		}
		second := w.ingest(1)
		job, err = w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		w.must(w.CommitVersion(ctx, domain.VersionChange{Caller: job.Caller, DatasetID: w.data().ID, Have: oneColumn, Columns: oneColumn, Add: []domain.DataFile{w.file(7)},
			Ingestion: &domain.IngestionEnd{ID: second, Lease: job.Lease, Rows: 7}}))
		if got := w.ingestion(second); got.StatusMessage != "now 12 rows (was 5)" {
			t.Errorf("appended: %+v", got)
		}
		if err := w.RetryIngestion(ctx, user("alice"), id, uuid.NewString()); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("retry what is completed: %v", err)
		}
		w.must(w.MarkIngestionSeen(ctx, user("alice"), id))
		if !w.ingestion(id).Seen {
			t.Error("not seen")
		}
	})
}

// TestIngestionOptions follows options through the record, and through a retry.
func TestIngestionOptions(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, ref := t.Context(), user("alice"), dsRef("alice", "ns", "one")
		session := w.uploaded(alice, 1)
		started := domain.NewIngestion{
			ID: uuid.NewString(), Mode: domain.IngestAppend,
			Files: []domain.IngestFile{{SessionID: session.ID, FileID: session.Files[0].ID}},
			Options: domain.IngestOptions{
				Encoding: "utf-16", Delimiter: "\t", HeaderRow: new(3), Sheet: "Größe \x00", NullValues: []string{"", "n/a"},
				Types: map[string]string{"price": "DECIMAL(9,2)"}, Union: true,
			},
		}
		w.must(w.StartIngestion(ctx, alice, ref, started))
		w.must(w.StartIngestion(ctx, alice, ref, started))
		other := started
		other.Options.Types = map[string]string{"price": "VARCHAR"}
		if err := w.StartIngestion(ctx, alice, ref, other); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("the same id with other options: %v", err)
		}
		job, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		w.must(w.FailIngestion(ctx, job, "no"))
		again := uuid.NewString()
		w.must(w.RetryIngestion(ctx, alice, started.ID, again))
		retried, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		if !job.Options.Equal(started.Options) || retried.ID != again || !retried.Options.Equal(started.Options) {
			t.Errorf("options are %+v, retried %+v", job.Options, retried.Options)
		}
	})
}

// TestIngestionTakenOver has a second process take an ingestion over from one
// whose lease has ended: what the first still does is refused.
func TestIngestionTakenOver(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, id := t.Context(), w.ingest(1)
		slow, err := w.ClaimIngestion(ctx, "slow", -time.Second, false, nil)
		w.must(err)
		quick, err := w.ClaimIngestion(ctx, "quick", time.Hour, false, nil)
		w.must(err)
		if quick.ID != id || quick.Fence <= slow.Fence {
			t.Fatalf("taken over: %+v after %+v", quick, slow)
		}
		file := w.file(5)
		late := domain.VersionChange{Caller: slow.Caller, DatasetID: w.data().ID, Columns: oneColumn, Add: []domain.DataFile{file},
			Ingestion: &domain.IngestionEnd{ID: id, Lease: slow.Lease, Rows: 5}}
		for name, err := range map[string]error{
			"renew":  w.RenewIngestion(ctx, slow, time.Hour, 1, 1),
			"fail":   w.FailIngestion(ctx, slow, "late"),
			"commit": w.CommitVersion(ctx, late),
		} {
			if !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s by the first: %v", name, err)
			}
		}
		if got := w.data(); got.RowCount != 0 {
			t.Errorf("rows of the first are visible: %+v", got)
		}
		w.must(w.FailIngestion(ctx, quick, "line 7: not a number"))
		if got := w.ingestion(id); got.Status != domain.IngestionFailed || got.StatusMessage != "line 7: not a number" {
			t.Errorf("failed: %+v", got)
		}
		again := uuid.NewString()
		w.must(w.RetryIngestion(ctx, user("alice"), id, again))
		if job, err := w.ClaimIngestion(ctx, "quick", time.Hour, false, nil); err != nil || job.ID != again || len(job.Files) != 1 {
			t.Errorf("the retry: %+v, %v", job, err)
		}
	})
}

func TestSmallestIngestion(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		for _, files := range []int{3, 1, 2} {
			w.ingest(files)
		}
		if _, err := w.ClaimIngestion(t.Context(), "me", time.Hour, true, []string{"alice"}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("without its user: %v", err)
		}
		for _, files := range []int{1, 2, 3} {
			job, err := w.ClaimIngestion(t.Context(), "me", time.Hour, true, nil)
			w.must(err)
			if len(job.Files) != files {
				t.Errorf("%d files, want %d", len(job.Files), files)
			}
		}
	})
}

func TestIngestionIsHandedOver(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		id, fence := w.ingest(1), int64(0)
		for range domain.MaxIngestionAttempts + 1 { // giving back does not count
			job, err := w.ClaimIngestion(t.Context(), "stopping", time.Hour, false, nil)
			w.must(err)
			w.must(w.ReleaseIngestion(t.Context(), job))
			if job.Fence <= fence {
				t.Errorf("fence %d after %d", job.Fence, fence)
			}
			fence = job.Fence
		}
		_, err := w.ClaimIngestion(t.Context(), "crashing", time.Hour, false, nil)
		w.must(err)
		w.must(store.ExpireLeases(t.Context()))
		if job, err := w.ClaimIngestion(t.Context(), "next", time.Hour, false, nil); err != nil || job.ID != id {
			t.Errorf("after all leases ended: %+v, %v", job, err)
		}
	})
}

func TestIngestionIsTakenUpThreeTimes(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		id := w.ingest(1)
		for range domain.MaxIngestionAttempts {
			_, err := w.ClaimIngestion(t.Context(), "crashing", -time.Second, false, nil)
			w.must(err)
		}
		if _, err := w.ClaimIngestion(t.Context(), "crashing", -time.Second, false, nil); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a fourth time: %v", err)
		}
		if got := w.ingestion(id); got.Status != domain.IngestionFailed {
			t.Errorf("in the end: %+v", got)
		}
	})
}

// TestEachIngestionIsClaimedOnce has workers claim at once.
func TestEachIngestionIsClaimedOnce(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		const count = 12
		for range count {
			w.ingest(1)
		}
		var mu sync.Mutex
		claimed := map[string]int{}
		together(func(int) {
			for {
				job, err := w.ClaimIngestion(t.Context(), "worker", time.Hour, false, nil)
				switch {
				case errors.Is(err, domain.ErrNotFound):
					return
				case errors.Is(err, domain.ErrConflict):
				case err != nil:
					t.Error(err)
					return
				default:
					mu.Lock()
					claimed[job.ID]++
					mu.Unlock()
				}
			}
		})
		if len(claimed) != count {
			t.Errorf("%d of %d claimed", len(claimed), count)
		}
		for id, times := range claimed {
			if times != 1 {
				t.Errorf("%s was claimed %d times", id, times)
			}
		}
	})
}

// What is started twice is there once, and an id stands for one ingestion.
func TestIngestionID(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, ref := t.Context(), dsRef("alice", "ns", "one")
		w.must(w.CreateDataset(ctx, user("alice"), "ns", "another", domain.Definition{}))
		w.must(w.ShareDataset(ctx, user("alice"), ref, domain.Grant{Username: "bob", Role: domain.Editor}))
		start := func(id, by string, ref domain.DatasetRef, mode domain.IngestMode, session domain.UploadSession) error {
			started := domain.NewIngestion{ID: id, Mode: mode}
			for _, file := range session.Files {
				started.Files = append(started.Files, domain.IngestFile{SessionID: session.ID, FileID: file.ID})
			}
			return w.StartIngestion(ctx, user(by), ref, started)
		}
		id, session := uuid.NewString(), w.uploaded(user("alice"), 2)
		for range 2 {
			w.must(start(id, "alice", ref, domain.IngestAppend, session))
		}
		turned := domain.UploadSession{ID: session.ID, Files: []domain.UploadFile{session.Files[1], session.Files[0]}}
		for name, err := range map[string]error{
			"another dataset": start(id, "alice", dsRef("alice", "ns", "another"), domain.IngestAppend, session),
			"another mode":    start(id, "alice", ref, domain.IngestReplace, session),
			"other files":     start(id, "alice", ref, domain.IngestAppend, w.uploaded(user("alice"), 2)),
			"another order":   start(id, "alice", ref, domain.IngestAppend, turned),
			"another user":    start(id, "bob", ref, domain.IngestAppend, w.uploaded(user("bob"), 2)),
		} {
			if !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: %v", name, err)
			}
		}
		list, err := w.Ingestions(ctx, user("alice"), ref, time.Now().Add(time.Hour), 100)
		if err != nil || len(list) != 1 {
			t.Errorf("there are %v, %v", list, err)
		}
		job, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		w.must(w.FailIngestion(ctx, job, "no"))
		again := uuid.NewString()
		for range 2 {
			w.must(w.RetryIngestion(ctx, user("alice"), id, again))
		}
		w.must(w.RetryIngestion(ctx, user("bob"), id, again))
		if err := w.RetryIngestion(ctx, user("alice"), id, w.ingest(1)); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("retried as another one: %v", err)
		}
	})
}

func TestWhoMayIngest(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, ref := t.Context(), dsRef("alice", "ns", "one")
		for name, role := range map[string]domain.Role{"viewer": domain.Viewer, "editor": domain.Editor} {
			w.must(w.ShareDataset(ctx, user("alice"), ref, domain.Grant{Username: name, Role: role}))
		}
		id := w.ingest(1)
		for name, want := range map[string]error{"stranger": domain.ErrNotFound, "viewer": domain.ErrForbidden, "editor": nil} {
			caller := user(name)
			session := w.uploaded(caller, 1)
			start := func(file domain.IngestFile) error {
				return w.StartIngestion(ctx, caller, ref, domain.NewIngestion{
					ID: uuid.NewString(), Mode: domain.IngestAppend, Files: []domain.IngestFile{file}})
			}
			if err := start(domain.IngestFile{SessionID: session.ID, FileID: session.Files[0].ID}); !errors.Is(err, want) {
				t.Errorf("%s starts: %v, want %v", name, err, want)
			}
			if err := w.MarkIngestionSeen(ctx, caller, id); !errors.Is(err, want) {
				t.Errorf("%s has seen: %v, want %v", name, err, want)
			}
			if want == nil {
				alices := w.uploaded(user("alice"), 1)
				if err := start(domain.IngestFile{SessionID: alices.ID, FileID: alices.Files[0].ID}); !errors.Is(err, domain.ErrInvalid) {
					t.Errorf("%s ingests alice's upload: %v", name, err)
				}
				unfinished := w.upload(caller, 1)
				if err := start(domain.IngestFile{SessionID: unfinished.ID, FileID: unfinished.Files[0].ID}); !errors.Is(err, domain.ErrInvalid) {
					t.Errorf("%s ingests an unfinished upload: %v", name, err)
				}
			}
		}
		if list, err := w.Ingestions(ctx, user("viewer"), ref, time.Now().Add(time.Hour), 1); err != nil || len(list) != 1 {
			t.Errorf("a viewer lists: %v, %v", list, err)
		}
		if _, err := w.Ingestions(ctx, user("stranger"), ref, time.Now(), 1); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a stranger lists: %v", err)
		}
	})
}
