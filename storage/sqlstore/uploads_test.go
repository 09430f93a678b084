package sqlstore_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// upload prepares a session with some files.
func (w world) upload(caller domain.Caller, files int) domain.UploadSession {
	w.t.Helper()
	session := domain.UploadSession{ID: uuid.NewString()}
	for i := range files {
		id := uuid.NewString()
		session.Files = append(session.Files, domain.UploadFile{
			ID: id, Filename: fmt.Sprint("file", i, ".csv"), Size: 20, PartSize: 8, Key: "uploads/" + id, UploadID: "u" + id})
	}
	w.must(w.CreateUploadSession(w.t.Context(), caller, session))
	return session
}

// uploaded is upload, with all files completed.
func (w world) uploaded(caller domain.Caller, files int) domain.UploadSession {
	w.t.Helper()
	session := w.upload(caller, files)
	for _, file := range session.Files {
		_, err := w.CompleteUploadFile(w.t.Context(), caller, session.ID, file.ID)
		w.must(err)
	}
	return session
}

func TestUploadLife(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		session := w.upload(alice, 2)

		got, err := w.UploadSession(ctx, alice, session.ID)
		w.must(err)
		if got.Status != domain.UploadPreparing || len(got.Files) != 2 || got.Files[1].Filename != "file1.csv" || got.Files[0].UploadID == "" {
			t.Errorf("prepared: %+v", got)
		}
		for i, want := range []domain.UploadStatus{domain.UploadPreparing, domain.UploadCompleted} {
			for range 2 { // the second time changes nothing
				if got, err = w.CompleteUploadFile(ctx, alice, session.ID, session.Files[i].ID); err != nil || got.Status != want {
					t.Errorf("file %d: %v, %v", i, got.Status, err)
				}
			}
		}
		if _, err := w.AbortUploadSession(ctx, alice, session.ID); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("abort a completed session: %v", err)
		}

		session = w.upload(alice, 2)
		_, err = w.CompleteUploadFile(ctx, alice, session.ID, session.Files[0].ID)
		w.must(err)
		for range 2 {
			got, err = w.AbortUploadSession(ctx, alice, session.ID)
			w.must(err)
			if got.Status != domain.UploadAborted || got.Files[0].Status != domain.UploadCompleted || got.Files[1].Status != domain.UploadAborted {
				t.Errorf("aborted: %+v", got)
			}
		}
		if _, err := w.CompleteUploadFile(ctx, alice, session.ID, session.Files[1].ID); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("complete an aborted file: %v", err)
		}
	})
}

func TestUploadsAreTheirUsersAlone(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		narrow := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		other := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		free, own := w.upload(alice, 1), w.upload(narrow, 1)
		for _, test := range []struct {
			caller  domain.Caller
			session domain.UploadSession
			visible bool
		}{
			{alice, free, true}, {alice, own, true}, {narrow, own, true},
			{narrow, free, false}, {other, own, false}, {user("bob"), free, false},
		} {
			_, err := w.UploadSession(ctx, test.caller, test.session.ID)
			if (err == nil) != test.visible || err != nil && !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%+v reads: %v", test.caller, err)
			}
			if test.visible {
				continue
			}
			if _, err := w.CompleteUploadFile(ctx, test.caller, test.session.ID, test.session.Files[0].ID); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%+v completes: %v", test.caller, err)
			}
			if _, err := w.AbortUploadSession(ctx, test.caller, test.session.ID); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%+v aborts: %v", test.caller, err)
			}
		}
		// A file is found in its own session only.
		if _, err := w.CompleteUploadFile(ctx, alice, free.ID, own.Files[0].ID); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a file of another session: %v", err)
		}
	})
}

func TestStaleUploadsAreAborted(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		done, stale := w.uploaded(user("alice"), 1), w.upload(user("bob"), 2)
		if got, err := w.AbortStaleUploads(t.Context(), time.Hour, 10); err != nil || len(got) != 0 {
			t.Errorf("before its time: %v, %v", got, err)
		}
		got, err := w.AbortStaleUploads(t.Context(), -time.Hour, 10)
		w.must(err)
		if len(got) != 1 || got[0].ID != stale.ID || len(got[0].Files) != 2 || got[0].Status != domain.UploadAborted {
			t.Errorf("stale: %+v, but %s is done", got, done.ID)
		}
	})
}

// TestCompleteOrAbort has writers complete and abort one file: one of them wins
// and the session shows it.
func TestCompleteOrAbort(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		for range 5 {
			session := w.upload(user("alice"), 1)
			var completed, aborted atomic.Int32
			together(func(i int) {
				var err error
				if i%2 == 0 {
					if _, err = w.CompleteUploadFile(t.Context(), user("alice"), session.ID, session.Files[0].ID); err == nil {
						completed.Add(1)
					}
				} else if _, err = w.AbortUploadSession(t.Context(), user("alice"), session.ID); err == nil {
					aborted.Add(1)
				}
				if err != nil && !errors.Is(err, domain.ErrInvalid) {
					t.Error(err)
				}
			})
			if (completed.Load() > 0) == (aborted.Load() > 0) {
				t.Errorf("completed %d times and aborted %d times", completed.Load(), aborted.Load())
			}
		}
	})
}

func TestDatasetUpload(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		session := domain.UploadSession{ID: uuid.NewString()}
		for _, ref := range []domain.DatasetRef{{Owner: "alice", Namespace: "Ns", Name: "One"}, {}} {
			id := uuid.NewString()
			session.Files = append(session.Files, domain.UploadFile{
				ID: id, Filename: "a.csv", Size: 20, PartSize: 8, Key: "uploads/" + id, UploadID: "u" + id, Dataset: ref})
		}
		w.must(w.CreateUploadSession(t.Context(), user("alice"), session))
		w.checkDatasetUploads(session)
		if _, err := w.DatasetUpload(t.Context(), user("bob"), dsRef("alice", "ns", "one"), session.Files[0].Key); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("somebody else's: %v", err)
		}
	})
}

// checkDatasetUploads looks up a session's two files, of which the first was prepared
// for the dataset alice/ns/one and the second for none.
func (w world) checkDatasetUploads(session domain.UploadSession) {
	w.t.Helper()
	for i, file := range session.Files {
		for _, name := range []string{"one", "ONE", "two", ""} {
			got, err := w.DatasetUpload(w.t.Context(), user("alice"), dsRef("alice", "nS", name), file.Key)
			if i == 0 && (name == "one" || name == "ONE") {
				if want := (domain.IngestFile{SessionID: session.ID, FileID: file.ID}); err != nil || got != want {
					w.t.Errorf("the upload for %s: %+v, %v", name, got, err)
				}
			} else if !errors.Is(err, domain.ErrInvalid) {
				w.t.Errorf("file %d for %q: %v", i, name, err)
			}
		}
	}
}

// TestUploadsFromBeforeTheColumn goes on with uploads that were prepared before files had
// a column for their dataset.
func TestUploadsFromBeforeTheColumn(t *testing.T) {
	t.Parallel()
	for name, cfg := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t, cfg)
			w := world{t: t, Store: store}
			w.must(store.MigrateTo(t.Context(), 7))
			session := domain.UploadSession{ID: "s", Files: []domain.UploadFile{
				// The digest of alice/ns/one.
				{ID: "a", Key: "uploads/a-0ba82835bb852ce8a5a1121f33382aaa"}, {ID: "b", Key: "uploads/b"},
			}}
			w.must(store.Exec(t.Context(), `INSERT INTO upload_sessions (id, owner, restriction, status, created_at, updated_at)
				VALUES ('s', 'alice', '', 'preparing', 1, 1)`))
			for i, file := range session.Files {
				w.must(store.Exec(t.Context(), `INSERT INTO upload_files (id, session_id, position, filename, byte_count, part_size, upload_id, object_key, status)
					VALUES ($1, 's', $2, 'a.csv', 20, 8, 'u', $3, 'preparing')`, file.ID, i, file.Key))
			}
			w.must(store.Migrate(t.Context()))
			w.checkDatasetUploads(session)
			for i, want := range []domain.UploadStatus{domain.UploadPreparing, domain.UploadCompleted} {
				got, err := store.CompleteUploadFile(t.Context(), user("alice"), "s", session.Files[i].ID)
				if err != nil || got.Status != want || got.Files[i].Key != session.Files[i].Key {
					t.Errorf("completed: %+v, %v", got, err)
				}
			}
		})
	}
}
