package sqlstore_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// begin starts an ingestion of an uploaded file into a user's dataset ns/one.
func (w world) begin(user domain.Caller, session domain.UploadSession, id string) error {
	w.t.Helper()
	return w.StartIngestion(w.t.Context(), user, dsRef(user.Username, "ns", "one"), domain.NewIngestion{
		ID: id, Mode: domain.IngestAppend, Files: []domain.IngestFile{{SessionID: session.ID, FileID: session.Files[0].ID}}})
}

// queue has alice start many ingestions, and bob a few after them.
func queue(t *testing.T, store *sqlstore.Store, alices, bobs int) world {
	w := newWorld(t, store)
	w.create("bob", "ns", "one")
	for _, flood := range []struct {
		domain.Caller
		ingestions int
	}{{user("alice"), alices}, {user("bob"), bobs}} {
		session := w.uploaded(flood.Caller, 1)
		for range flood.ingestions {
			w.must(w.begin(flood.Caller, session, uuid.NewString()))
		}
		nextMilli()
	}
	return w
}

// nextMilli waits until the store's clock shows another time.
func nextMilli() {
	for now := time.Now().UnixMilli(); now == time.Now().UnixMilli(); {
		time.Sleep(time.Millisecond / 4)
	}
}

func (w world) claim(except ...string) domain.IngestionJob {
	w.t.Helper()
	job, err := w.ClaimIngestion(w.t.Context(), "me", time.Hour, false, except)
	w.must(err)
	return job
}

func TestIngestionsUnderWayAreShared(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := queue(t, store, 5, 2)
		var order []string
		for range 7 {
			order = append(order, w.claim().Caller.Username)
		}
		if want := []string{"alice", "bob", "alice", "bob", "alice", "alice", "alice"}; !slices.Equal(order, want) {
			t.Errorf("the order was %v", order)
		}
	})
}

// With one at a time, nobody has any under way when the next is chosen.
func TestIngestionsTakeTurns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := queue(t, store, 5, 2)
		var order []string
		for range 7 {
			job := w.claim()
			order = append(order, job.Caller.Username)
			w.must(w.FailIngestion(t.Context(), job, "no"))
			nextMilli()
		}
		if want := []string{"alice", "bob", "alice", "bob", "alice", "alice", "alice"}; !slices.Equal(order, want) {
			t.Errorf("the order was %v", order)
		}
	})
}

func TestClaimLeavesUsers(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := queue(t, store, 2, 1)
		if got := w.claim("alice", "carol").Caller.Username; got != "bob" {
			t.Errorf("%s's was claimed", got)
		}
		if _, err := w.ClaimIngestion(t.Context(), "me", time.Hour, false, []string{"carol", "alice"}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("what is left is alice's: %v", err)
		}
		if got := w.claim().Caller.Username; got != "alice" {
			t.Errorf("%s's was claimed", got)
		}
	})
}

func TestOpenIngestionsAreBounded(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := queue(t, store, 1, 0)
		w.must(store.Exec(t.Context(), `
WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
INSERT INTO ingestions (id, dataset_id, started_by, restriction, name, mode, status, status_message,
	processed_bytes, expected_bytes, processed_rows, attempts, seen, created_at, updated_at, options)
SELECT 'copy ' || i, dataset_id, started_by, restriction, name, mode, status, status_message,
	processed_bytes, expected_bytes, processed_rows, attempts, seen, created_at + i, updated_at, options
FROM ingestions, n`, domain.MaxOpenIngestions-1))
		alice, last := user("alice"), uuid.NewString()
		session := w.uploaded(alice, 1)
		w.must(w.begin(alice, session, last))
		if err := w.begin(alice, session, uuid.NewString()); !errors.Is(err, domain.ErrTooMany) {
			t.Errorf("one too many: %v", err)
		}
		w.must(w.begin(alice, session, last)) // it has begun
		w.must(w.begin(user("bob"), w.uploaded(user("bob"), 1), uuid.NewString()))
		job := w.claim("bob")
		w.must(w.FailIngestion(t.Context(), job, "no"))
		w.must(w.RetryIngestion(t.Context(), alice, job.ID, uuid.NewString()))
		if err := w.RetryIngestion(t.Context(), alice, job.ID, uuid.NewString()); !errors.Is(err, domain.ErrTooMany) {
			t.Errorf("one retried too many: %v", err)
		}
	})
}

func TestOpenUploadsAreBounded(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		token := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		w.uploaded(alice, 2)
		first := w.upload(alice, 2)
		w.upload(token, domain.MaxOpenUploads-2)
		tooMany := domain.UploadSession{ID: uuid.NewString(), Files: []domain.UploadFile{{ID: uuid.NewString(), PartSize: 8}}}
		for _, caller := range []domain.Caller{alice, token} {
			if err := w.MayUpload(ctx, caller, 1); !errors.Is(err, domain.ErrTooMany) {
				t.Errorf("asked first: %v", err)
			}
			if err := w.CreateUploadSession(ctx, caller, tooMany); !errors.Is(err, domain.ErrTooMany) {
				t.Errorf("one too many: %v", err)
			}
		}
		w.upload(user("bob"), 1)
		_, err := w.CompleteUploadFile(ctx, alice, first.ID, first.Files[0].ID)
		w.must(err)
		w.upload(alice, 1)
		_, err = w.AbortUploadSession(ctx, alice, first.ID)
		w.must(err)
		w.must(w.MayUpload(ctx, alice, 1))
		if err := w.MayUpload(ctx, alice, 2); !errors.Is(err, domain.ErrTooMany) {
			t.Errorf("for two files there is no room: %v", err)
		}
	})
}
