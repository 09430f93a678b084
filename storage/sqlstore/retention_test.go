package sqlstore_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// now is an age that everything has reached.
const now = -time.Hour

// ran makes a run of alice's that has ended, with four events, the third of which
// makes an artifact.
func (w world) ran(conversationID string) (runID string) {
	w.t.Helper()
	start := w.start(conversationID)
	change := ending(step(start.RunID, 0, 4), domain.RunCompleted)
	change.Events[2].Kind = domain.EventArtifact
	w.must(sqlstoretest.Append(w, start))
	w.must(sqlstoretest.Append(w, change))
	return start.RunID
}

func (w world) removed(remove func(context.Context, time.Duration) (int, error), age time.Duration, want int) {
	w.t.Helper()
	if got, err := remove(w.t.Context(), age); err != nil || got != want {
		w.t.Errorf("removed %d, %v; want %d", got, err, want)
	}
}

func TestTrimEvents(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		ended, open := w.ran(""), w.start("")
		w.must(sqlstoretest.Append(w, open))
		w.must(sqlstoretest.Append(w, step(open.RunID, 0, 3)))
		before, err := w.Task(ctx, user("alice"), "", ended, true)
		w.must(err)

		w.removed(w.TrimEvents, time.Hour, 0)
		w.removed(w.TrimEvents, now, 1)
		w.removed(w.TrimEvents, now, 0)
		w.must(w.Reclaim(ctx))
		left, err := w.Events(ctx, user("alice"), ended, 0)
		w.must(err)
		if len(left) != 2 || left[0].Number != 3 || left[1].Number != 4 {
			t.Errorf("left: %v", left)
		}
		after, err := w.Task(ctx, user("alice"), "", ended, true)
		w.must(err)
		if after.LastEvent != before.LastEvent || len(after.Artifacts) != 1 || string(after.Snapshot) != string(before.Snapshot) {
			t.Errorf("the task was %+v and is %+v", before, after)
		}
		if got := len(w.log(open.RunID)); got != 3 {
			t.Errorf("%d events of the open run", got)
		}
		w.must(sqlstoretest.Append(w, ending(step(open.RunID, 3, 1), domain.RunFailed)))
		w.removed(w.TrimEvents, now, 1)
	})
}

func TestDeleteOldRuns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		open := w.start("")
		w.must(sqlstoretest.Append(w, open))
		run, err := w.Run(ctx, user("alice"), open.RunID)
		w.must(err)
		beside, alone := w.ran(run.ConversationID), w.ran("gone")
		for range sqlstore.RetentionBatch {
			w.ran("")
		}
		w.removed(w.DeleteOldRuns, time.Hour, 0)
		w.removed(w.DeleteOldRuns, now, sqlstore.RetentionBatch)
		w.removed(w.DeleteOldRuns, now, 2)
		w.removed(w.DeleteOldRuns, now, 0)
		for _, id := range []string{beside, alone} {
			if _, err := w.Run(ctx, user("alice"), id); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("an old run: %v", err)
			}
			if _, err := w.Task(ctx, user("alice"), "", id, true); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("its task: %v", err)
			}
		}
		if got := w.questions(user("alice"), run.ConversationID); got != "How many?" {
			t.Errorf("the conversation of an open run has %q", got)
		}
		if request, err := w.resolve(user("alice"), "ns", "gone"); err != nil || request.ConversationExists {
			t.Errorf("the conversation without a run: %+v, %v", request, err)
		}
	})
}

func TestDeleteOldUploads(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		under := w.upload(user("alice"), 1) // way
		unread, aborted := w.uploaded(user("alice"), 2), w.upload(user("alice"), 1)
		_, err := w.AbortUploadSession(ctx, user("alice"), aborted.ID)
		w.must(err)
		pending := w.ingest(2)
		w.removed(w.DeleteOldUploads, time.Hour, 0)
		w.removed(w.DeleteOldUploads, now, 2)
		keys := []string{unread.Files[0].Key, unread.Files[1].Key}
		orphans := w.orphans()
		slices.Sort(keys)
		slices.Sort(orphans)
		if !slices.Equal(orphans, keys) {
			t.Errorf("orphaned: %v, want %v", orphans, keys)
		}
		if _, err := w.UploadSession(ctx, user("alice"), under.ID); err != nil {
			t.Errorf("an upload under way: %v", err)
		}

		job, err := w.ClaimIngestion(ctx, "me", time.Hour, false, nil)
		w.must(err)
		w.removed(w.DeleteOldUploads, now, 0)
		w.must(w.FailIngestion(ctx, job, "no"))
		w.removed(w.DeleteOldUploads, time.Hour, 0)
		w.removed(w.DeleteOldUploads, now, 1)
		if err := w.RetryIngestion(ctx, user("alice"), pending, "again"); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("retried without files: %v", err)
		}
		if got := w.ingestion(pending); got.Status != domain.IngestionFailed {
			t.Errorf("the record: %+v", got)
		}
		w.removed(w.DeleteOldIngestions, time.Hour, 0)
		w.removed(w.DeleteOldIngestions, now, 1)
		still := w.ingest(1)
		w.removed(w.DeleteOldIngestions, now, 0)
		if got := w.ingestion(still); got.Status != domain.IngestionPending {
			t.Errorf("one that waits: %+v", got)
		}
	})
}
