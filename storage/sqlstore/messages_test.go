package sqlstore_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// A message makes one run for its user and agent, as long as it is known.
func TestSentMessages(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		start := func(caller domain.Caller, agent, conversation string) (domain.TaskChange, error) {
			change, err := sqlstoretest.Start(ctx, w, caller, domain.Question{
				Agent: agent, Namespace: nsRef("alice", "ns"), ConversationID: conversation, Text: "?",
			})
			change.Start.Message = domain.SentMessage{Key: "key", Digest: "digest"}
			if change.Start.ConversationID == "" {
				change.Start.ConversationID = uuid.NewString()
			}
			return change, err
		}
		first, err := start(alice, "nl2ql", "")
		w.must(err)
		second, err := start(alice, "nl2ql", "")
		w.must(err)
		w.must(sqlstoretest.Append(w, first))

		// Found where to ask before the first was written.
		if err := sqlstoretest.Append(w, second); !errors.Is(err, domain.ErrMessageSent) {
			t.Errorf("again: %v", err)
		}
		if _, err := w.Task(ctx, alice, "", second.RunID, false); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("the second run: %v", err)
		}
		if listed, err := w.Conversations(ctx, alice, domain.NamespaceRef{}); err != nil || len(listed) != 1 {
			t.Errorf("%d conversations, %v", len(listed), err)
		}
		runID, digest, err := w.SentRun(ctx, alice, "nl2ql", "key")
		if err != nil || runID != first.RunID || digest != "digest" {
			t.Errorf("%s, %s, %v", runID, digest, err)
		}
		partly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		for _, other := range []struct {
			caller     domain.Caller
			agent, key string
		}{{user("bob"), "nl2ql", "key"}, {alice, "assistant", "key"}, {alice, "nl2ql", "other"}, {partly, "nl2ql", "key"}} {
			if runID, _, err := w.SentRun(ctx, other.caller, other.agent, other.key); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%+v: %s, %v", other, runID, err)
			}
		}
		for _, other := range []struct {
			caller domain.Caller
			agent  string
		}{{user("bob"), "nl2ql"}, {alice, "assistant"}} {
			change, err := start(other.caller, other.agent, "")
			w.must(err)
			w.must(sqlstoretest.Append(w, change))
		}

		w.must(w.DeleteRun(ctx, alice, first.RunID))
		third, err := start(alice, "nl2ql", "")
		w.must(err)
		w.must(sqlstoretest.Append(w, third))

		// Long ago: it is a new message.
		w.must(w.Exec(ctx, `UPDATE runs SET created_at = created_at - $1`, domain.MessageRetention.Milliseconds()+1))
		if _, _, err := w.SentRun(ctx, alice, "nl2ql", "key"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("long ago: %v", err)
		}
		fourth, err := start(alice, "nl2ql", "")
		w.must(err)
		w.must(sqlstoretest.Append(w, fourth))
		if runID, _, err := w.SentRun(ctx, alice, "nl2ql", "key"); err != nil || runID != fourth.RunID {
			t.Errorf("the new one: %s, %v", runID, err)
		}
		if _, err := w.Task(ctx, alice, "", third.RunID, false); err != nil {
			t.Errorf("its run: %v", err)
		}
	})
}

// Messages that are sent several times at once make one run each, and runs that are written
// with them are none the worse.
func TestSentMessagesAtOnce(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		const messages, sends = 30, 4
		var changes []domain.TaskChange
		for i := range messages * sends {
			change, err := sqlstoretest.Start(t.Context(), w, user("alice"), domain.Question{
				Agent: "nl2ql", Namespace: nsRef("alice", "ns"), Text: "?",
			})
			w.must(err)
			change.Start.ConversationID = uuid.NewString()
			if i%sends > 0 {
				change.Start.Message.Key = uuid.NewSHA1(uuid.Nil, []byte{byte(i / sends)}).String()
			}
			changes = append(changes, change)
		}
		errs := make([]error, len(changes))
		var group sync.WaitGroup
		for i, change := range changes {
			group.Go(func() { errs[i] = sqlstoretest.Append(w, change) })
		}
		group.Wait()
		written := 0
		for i, err := range errs {
			switch {
			case err == nil:
				written++
			case i%sends == 0 || !errors.Is(err, domain.ErrMessageSent):
				t.Errorf("change %d: %v", i, err)
			}
		}
		if written != 2*messages {
			t.Errorf("%d runs, want %d", written, 2*messages)
		}
	})
}

// TestFindMessageByIndex: the cost of finding a message does not grow with the caller's runs.
func TestFindMessageByIndex(t *testing.T) {
	t.Parallel()
	plan, err := sqlstoretest.SQLite(t).SentRunPlan(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, index := range []string{"runs_by_message (owner=? AND agent=? AND message=?)", "runs_by_answer (owner=? AND agent=? AND answer=?)"} {
		if !strings.Contains(strings.Join(plan, "\n"), "SEARCH r USING INDEX "+index) {
			t.Errorf("%s is not used: %q", index, plan)
		}
	}
}
