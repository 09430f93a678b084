package sqlstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// ask starts a run of caller's in one of alice's namespaces.
func (w world) ask(caller domain.Caller, namespace, conversationID, question string) domain.Question {
	w.t.Helper()
	run, err := w.tryToAsk(caller, namespace, conversationID, question)
	w.must(err)
	return run
}

func (w world) tryToAsk(caller domain.Caller, namespace, conversationID, question string) (domain.Question, error) {
	return sqlstoretest.Ask(w.t.Context(), w, caller, domain.Question{
		ConversationID: conversationID, Namespace: nsRef("alice", namespace), Agent: "assistant", Text: question})
}

func (w world) finish(caller domain.Caller, runID string, outcome domain.RunOutcome) error {
	return sqlstoretest.Finish(w.t.Context(), w, caller, runID, outcome)
}

// questions lists a conversation's questions in order.
func (w world) questions(caller domain.Caller, conversationID string) string {
	w.t.Helper()
	var questions []string
	_, turns, err := w.Conversation(w.t.Context(), caller, conversationID, domain.TurnPage{})
	w.must(err)
	for turn, err := range turns {
		w.must(err)
		questions = append(questions, turn.Question)
	}
	return strings.Join(questions, " | ")
}

func TestRunLife(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		started := w.ask(alice, "ns", uuid.NewString(), "How many?")

		run, err := w.Run(ctx, alice, started.RunID)
		w.must(err)
		if run.Status != domain.RunRunning || run.Question != "How many?" || run.Result != nil || run.ConversationID != started.ConversationID {
			t.Errorf("a started run: %+v", run)
		}
		answering := step(started.RunID, 0, 0)
		answering.LastNodeID = "answer"
		w.must(sqlstoretest.Append(w, answering))
		result := json.RawMessage(`{"response":"Two.","steps":[]}`)
		w.must(w.finish(alice, started.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: result}))
		run, err = w.Run(ctx, alice, started.RunID)
		w.must(err)
		if run.Status != domain.RunCompleted || string(run.Result) != string(result) || run.LastNodeID != "answer" {
			t.Errorf("a finished run: %+v", run)
		}
		if err := w.finish(alice, started.RunID, domain.RunOutcome{Status: domain.RunFailed}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("finish twice: got %v, want conflict", err)
		}

		bob := user("bob")
		for name, err := range map[string]error{
			"read":   func() error { _, err := w.Run(ctx, bob, started.RunID); return err }(),
			"finish": w.finish(bob, started.RunID, domain.RunOutcome{Status: domain.RunFailed}),
			"delete": w.DeleteRun(ctx, bob, started.RunID),
			"read conversation": func() error {
				_, _, err := w.Conversation(ctx, bob, started.ConversationID, domain.TurnPage{})
				return err
			}(),
			"rename conversation":      w.RenameConversation(ctx, bob, started.ConversationID, "mine"),
			"delete conversation":      w.DeleteConversation(ctx, bob, started.ConversationID),
			"ask in alice's namespace": func() error { _, err := w.tryToAsk(bob, "ns", started.ConversationID, "?"); return err }(),
		} {
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("another user, %s: got %v, want not found", name, err)
			}
		}

		w.must(w.DeleteRun(ctx, alice, started.RunID))
		if _, _, err := w.Conversation(ctx, alice, started.ConversationID, domain.TurnPage{}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("the conversation of a deleted only run: got %v, want not found", err)
		}
	})
}

func TestConversationIDsAreKeptByOwner(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, bob := t.Context(), user("alice"), user("bob")
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		id := uuid.NewString()
		w.ask(alice, "ns", id, "alice's question")
		w.ask(bob, "ns", id, "bob's question")
		if got := w.questions(alice, id); got != "alice's question" {
			t.Errorf("alice's turns: %q", got)
		}
		w.must(w.RenameConversation(ctx, alice, id, "alice's title"))
		w.ask(alice, "ns", id, "another question")
		for caller, want := range map[*domain.Caller]string{&alice: "alice's title", &bob: "bob's question"} {
			list, err := w.Conversations(ctx, *caller, domain.NamespaceRef{})
			w.must(err)
			title, _, err := w.Conversation(ctx, *caller, id, domain.TurnPage{})
			w.must(err)
			if len(list) != 1 || list[0].Title != want || title != want {
				t.Errorf("%s has %+v and %q, want %q", caller.Username, list, title, want)
			}
		}
		w.must(w.DeleteConversation(ctx, alice, id))
		if got := w.questions(bob, id); got != "bob's question" {
			t.Errorf("bob's turns after alice deleted hers: %q", got)
		}
	})
}

func TestConversationLists(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")
		ctx, alice := t.Context(), user("alice")
		first, second := uuid.NewString(), uuid.NewString()
		w.ask(alice, "ns", first, "first")
		w.ask(alice, "other", second, "second")

		titles := func(in domain.NamespaceRef) string {
			t.Helper()
			list, err := w.Conversations(ctx, alice, in)
			w.must(err)
			var titles []string
			for _, c := range list {
				titles = append(titles, c.Title)
			}
			return strings.Join(titles, " ")
		}
		for _, test := range []struct {
			in   domain.NamespaceRef
			want int
		}{
			{domain.NamespaceRef{}, 2},
			{nsRef("alice", ""), 2},
			{nsRef("alice", "NS"), 1},
			{nsRef("", "other"), 1},
			{nsRef("bob", ""), 0},
			{nsRef("alice", "none"), 0},
		} {
			if got := strings.Fields(titles(test.in)); len(got) != test.want {
				t.Errorf("conversations in %+v: got %v, want %d", test.in, got, test.want)
			}
		}

		// Latest first, by the last question, in whole milliseconds.
		time.Sleep(2 * time.Millisecond)
		w.ask(alice, "ns", first, "again")
		if got := titles(domain.NamespaceRef{}); got != "first second" {
			t.Errorf("order: got %q", got)
		}
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		w.ask(user("bob"), "ns", second, "bob's, under the same id")
		if got := titles(nsRef("alice", "ns")); got != "first" {
			t.Errorf("another's run found alice's conversation: %q", got)
		}

		// A conversation follows its namespace's name, and outlives it.
		w.must(w.RenameNamespace(ctx, alice, nsRef("alice", "ns"), "renamed"))
		if got := titles(nsRef("alice", "renamed")); got != "first" {
			t.Errorf("after renaming: got %q", got)
		}
		w.must(w.DeleteNamespace(ctx, alice, nsRef("alice", "renamed"), true))
		if got := w.questions(alice, first); got != "first | again" {
			t.Errorf("after deleting the namespace: got %q", got)
		}
	})
}

// TestPagesOfTurns reads a conversation page by page, from its end.
func TestPagesOfTurns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		alice, id := user("alice"), uuid.NewString()
		var runs []string
		for i := range 40 {
			runs = append(runs, w.ask(alice, "ns", id, fmt.Sprint("question ", i)).RunID)
		}
		page := func(before string, limit int) []string {
			t.Helper()
			title, turns, err := w.Conversation(t.Context(), alice, id, domain.TurnPage{Before: before, Limit: limit})
			w.must(err)
			if title != "question 0" {
				t.Errorf("title %q", title)
			}
			got := []string{}
			for turn, err := range turns {
				w.must(err)
				got = append(got, turn.ID)
			}
			return got
		}
		var all []string
		for before := ""; ; before = all[0] {
			got := page(before, 18)
			if len(got) == 0 {
				break
			}
			all = append(got, all...)
		}
		if !slices.Equal(all, runs) {
			t.Errorf("got %v, want %v", all, runs)
		}
		if got := page(runs[20], 0); !slices.Equal(got, runs[:20]) {
			t.Errorf("all before one: %v", got)
		}
		other := w.ask(alice, "ns", uuid.NewString(), "elsewhere").RunID
		for _, before := range []string{other, uuid.NewString()} {
			if _, _, err := w.Conversation(t.Context(), alice, id, domain.TurnPage{Before: before}); !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("before a run of another conversation: %v", err)
			}
		}
		if _, _, err := w.Conversation(t.Context(), user("bob"), id, domain.TurnPage{Limit: 1}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("somebody else's: %v", err)
		}
	})
}

// TestLargeResultsAreLeftOut reads turns of which one has a large result.
func TestLargeResultsAreLeftOut(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		alice, id := user("alice"), uuid.NewString()
		var sizes []int
		for _, size := range []int{domain.InlineResult, domain.InlineResult + 1} {
			run := w.ask(alice, "ns", id, "How many?")
			w.must(w.finish(alice, run.RunID, domain.RunOutcome{
				Status: domain.RunCompleted, Result: json.RawMessage(`"` + strings.Repeat("é", (size-2)/2) + strings.Repeat("x", size%2) + `"`)}))
			sizes = append(sizes, size)
		}
		_, turns, err := w.Conversation(t.Context(), alice, id, domain.TurnPage{})
		w.must(err)
		at := 0
		for turn, err := range turns {
			w.must(err)
			if inline := turn.Result != nil; turn.ResultBytes != sizes[at] || inline != (sizes[at] <= domain.InlineResult) {
				t.Errorf("a result of %d bytes: %d, %d came with the turn", sizes[at], turn.ResultBytes, len(turn.Result))
			}
			at++
		}
	})
}

func TestTurnsComeInPagesAndInOrder(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		id := uuid.NewString()
		var asked []string
		for i := range 2 * 16 {
			asked = append(asked, w.ask(user("alice"), "ns", id, fmt.Sprint("question ", i)).Text)
		}
		if got, want := w.questions(user("alice"), id), strings.Join(asked, " | "); got != want {
			t.Errorf("turns: got %q, want %q", got, want)
		}
		_, turns, err := w.Conversation(t.Context(), user("alice"), id, domain.TurnPage{})
		w.must(err)
		count := 0
		var broken error
		for _, err := range turns {
			if count++; count == 1 {
				w.must(w.DeleteConversation(t.Context(), user("alice"), id))
			}
			broken = err
		}
		if !errors.Is(broken, domain.ErrNotFound) {
			t.Errorf("a conversation that was deleted while it was read ended with %v", broken)
		}
	})
}
