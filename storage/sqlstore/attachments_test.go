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

// attach asks a question that brings a file, and gives its run and attachment.
func (w world) attach(caller domain.Caller, conversation, dataset string) (domain.Question, domain.Attachment) {
	w.t.Helper()
	id := domain.NewID()
	a := domain.Attachment{ID: id, Filename: dataset + ".csv", Dataset: dataset, Key: "attachments/" + id + "/file", Bytes: 7}
	w.must(w.AddOrphanedObjects(w.t.Context(), []string{a.Key}, time.Hour))
	start, err := sqlstoretest.Start(w.t.Context(), w, caller, domain.Question{Agent: "nl2ql", ConversationID: conversation, Text: "How many?"})
	w.must(err)
	start.Start.Attachments = []domain.Attachment{a}
	w.must(sqlstoretest.Append(w, start))
	return *start.Start, a
}

// tabled commits an attachment with one table.
func (w world) tabled(caller domain.Caller, a domain.Attachment) domain.DatasetData {
	w.t.Helper()
	file := domain.DataFile{ID: domain.NewID(), Key: "attachments/" + a.ID + "/" + domain.NewID() + ".parquet", Rows: 3, Bytes: 99, SHA256: "ab"}
	w.must(w.AddOrphanedObjects(w.t.Context(), []string{file.Key}, time.Hour))
	d := domain.DatasetData{ID: domain.NewID(), Version: 1, Access: domain.Access{Role: domain.Viewer}, Files: []domain.DataFile{file},
		Dataset: domain.Dataset{Owner: caller.Username, Name: a.Dataset, Columns: []domain.Column{{Name: "n", Type: "BIGINT"}}, RowCount: 3}}
	w.must(w.CommitAttachment(w.t.Context(), caller, a.ID, []domain.DatasetData{d}))
	return d
}

func (w world) attached(caller domain.Caller, conversation string) []string {
	w.t.Helper()
	all, err := w.ConversationData(w.t.Context(), caller, conversation)
	w.must(err)
	var names []string
	for _, d := range all {
		names = append(names, d.Name+" "+d.ID)
	}
	return names
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorld(t, store), t.Context()
		alice, bob, token := user("alice"), user("bob"), domain.Caller{Username: "alice", Restriction: uuid.NewString()}
		conversation, other := uuid.NewString(), uuid.NewString()
		run, a := w.attach(alice, conversation, "sales")

		pending, err := w.PendingAttachments(ctx, alice, run.RunID)
		if err != nil || len(pending) != 1 || pending[0] != a {
			t.Fatalf("pending: %+v, %v", pending, err)
		}
		for _, stranger := range []domain.Caller{bob, token} {
			if pending, err := w.PendingAttachments(ctx, stranger, run.RunID); err != nil || len(pending) > 0 {
				t.Errorf("%+v has %+v, %v", stranger, pending, err)
			}
			if err := w.CommitAttachment(ctx, stranger, a.ID, nil); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%+v commits it: %v", stranger, err)
			}
		}
		if got := w.attached(alice, conversation); got != nil {
			t.Errorf("datasets before there are any: %v", got)
		}

		first := w.tabled(alice, a)
		if got := w.attached(alice, conversation); !slices.Equal(got, []string{"sales " + first.ID}) {
			t.Errorf("datasets: %v", got)
		}
		if err := w.CommitAttachment(ctx, alice, a.ID, nil); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("committed twice: %v", err)
		}
		if pending, err := w.PendingAttachments(ctx, alice, run.RunID); err != nil || len(pending) > 0 {
			t.Errorf("still pending: %+v, %v", pending, err)
		}
		if unnamed, err := w.UnnamedObjects(ctx, []string{a.Key, first.Files[0].Key}); err != nil || !slices.Equal(unnamed, []string{a.Key}) {
			t.Errorf("unnamed: %v, %v", unnamed, err)
		}
		for _, stranger := range []domain.Caller{bob, token} {
			if got := w.attached(stranger, conversation); got != nil {
				t.Errorf("%+v sees %v", stranger, got)
			}
		}
		if got := w.attached(alice, other); got != nil {
			t.Errorf("another conversation sees %v", got)
		}

		// A later file of the same name takes its place, and one that is not read yet does not.
		_, a = w.attach(alice, conversation, "Sales")
		second := w.tabled(alice, a)
		w.attach(alice, conversation, "sales")
		if got := w.attached(alice, conversation); !slices.Equal(got, []string{"Sales " + second.ID}) {
			t.Errorf("datasets: %v", got)
		}
		if n, err := w.CountAttachments(ctx, alice, conversation); err != nil || n != 3 {
			t.Errorf("%d attachments, %v", n, err)
		}
		// It is in no namespace.
		if all, err := w.Datasets(ctx, alice); err != nil || len(all) != 2 {
			t.Errorf("listed: %+v, %v", all, err)
		}
	})
}

// Whatever deletes a conversation deletes its attachments, with their objects.
func TestAttachmentsAreDeleted(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(w world, run domain.Question){
		"conversation": func(w world, run domain.Question) {
			w.must(w.DeleteConversation(w.t.Context(), run.Caller, run.ConversationID))
		},
		"run": func(w world, run domain.Question) { w.must(w.DeleteRun(w.t.Context(), run.Caller, run.RunID)) },
		"retention": func(w world, run domain.Question) {
			w.must(sqlstoretest.Finish(w.t.Context(), w, run.Caller, run.RunID, domain.RunOutcome{Status: domain.RunCompleted}))
			n, err := w.DeleteOldRuns(w.t.Context(), -time.Hour)
			if w.must(err); n != 1 {
				w.t.Errorf("%d runs deleted", n)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
				w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
				run, a := w.attach(alice, uuid.NewString(), "sales")
				key := w.tabled(alice, a).Files[0].Key
				w.attach(alice, uuid.NewString(), "kept")
				remove(w, run)
				if got := w.attached(alice, run.ConversationID); got != nil {
					t.Errorf("datasets: %v", got)
				}
				w.must(w.OrphanAttachments(ctx))
				orphans, err := w.OrphanedObjects(ctx, time.Hour, 10)
				slices.Sort(orphans)
				want := []string{a.Key, key}
				slices.Sort(want)
				if err != nil || !slices.Equal(orphans, want) {
					t.Errorf("orphaned: %v, %v, want %v", orphans, err, want)
				}
			})
		})
	}
}

// A run that is refused leaves no attachment.
func TestAttachmentsOfARepeatedMessage(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		conversation := uuid.NewString()
		for i, want := range []error{nil, domain.ErrMessageSent} {
			id := domain.NewID()
			a := domain.Attachment{ID: id, Filename: "a.csv", Dataset: "a", Key: "attachments/" + id, Bytes: 1}
			w.must(w.AddOrphanedObjects(ctx, []string{a.Key}, time.Hour))
			start, err := sqlstoretest.Start(ctx, w, alice, domain.Question{Agent: "nl2ql", ConversationID: conversation, Text: "?"})
			w.must(err)
			start.Start.Message = domain.SentMessage{Key: "m", Digest: "d"}
			start.Start.Attachments = []domain.Attachment{a}
			if err := sqlstoretest.Append(w, start); !errors.Is(err, want) {
				t.Errorf("%d: %v", i, err)
			}
		}
		if n, err := w.CountAttachments(ctx, alice, conversation); err != nil || n != 1 {
			t.Errorf("%d attachments, %v", n, err)
		}
	})
}

// A question in a conversation with attachments alone needs no namespace.
func TestConversationWithoutNamespace(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		run, a := w.attach(alice, uuid.NewString(), "sales")
		w.tabled(alice, a)
		if _, err := w.ConversationNamespace(ctx, alice, run.ConversationID); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("before it has an answer: %v", err)
		}
		w.must(sqlstoretest.Finish(ctx, w, alice, run.RunID, domain.RunOutcome{Status: domain.RunCompleted}))
		if ref, err := w.ConversationNamespace(ctx, alice, run.ConversationID); err != nil || ref != (domain.NamespaceRef{}) {
			t.Errorf("namespace %v, %v", ref, err)
		}
	})
}

// A token that covers a namespace reads its runs, but not what files say that came with
// another token.
func TestRunsWithAttachmentsOfOthers(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorld(t, store), t.Context()
		alice := user("alice")
		token := w.readOnly("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		conversation := uuid.NewString()
		run, err := sqlstoretest.Ask(ctx, w, alice, domain.Question{Agent: "nl2ql", Namespace: nsRef("alice", "ns"), ConversationID: conversation, Text: "How many?"})
		w.must(err)
		if _, err := w.Task(ctx, token, "", run.RunID, false); err != nil {
			t.Errorf("without attachments: %v", err)
		}
		w.attach(alice, conversation, "sales")
		if _, err := w.Task(ctx, token, "", run.RunID, false); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("with the attachment of another token: %v", err)
		}
		if _, err := w.Task(ctx, alice, "", run.RunID, false); err != nil {
			t.Errorf("who sent it: %v", err)
		}
	})
}
