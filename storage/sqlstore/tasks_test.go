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

// resolve returns a request of a caller about a namespace of alice's, resolved.
func (w world) resolve(caller domain.Caller, namespace, conversationID string) (domain.Question, error) {
	request := domain.Question{Caller: caller, Namespace: nsRef("alice", namespace), ConversationID: conversationID}
	err := w.ResolveRun(w.t.Context(), &request)
	return request, err
}

func TestAskIn(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")
		ctx, alice := t.Context(), user("alice")
		wholly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		partly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		free := w.ask(alice, "ns", uuid.NewString(), "?").ConversationID
		apart := w.ask(alice, "other", uuid.NewString(), "?").ConversationID
		own := w.ask(partly, "ns", uuid.NewString(), "?").ConversationID

		for name, test := range map[string]struct {
			caller       domain.Caller
			namespace    string
			conversation string
			begun        bool
			err          error
		}{
			"new":                        {alice, "NS", uuid.NewString(), false, nil},
			"unnamed":                    {alice, "ns", "", false, nil},
			"begun":                      {alice, "ns", free, true, nil},
			"begun elsewhere":            {alice, "ns", apart, true, nil},
			"spelt differently":          {alice, "ns", strings.ToUpper(free), false, nil},
			"no such namespace":          {alice, "none", free, false, domain.ErrNotFound},
			"stranger":                   {user("bob"), "ns", free, false, domain.ErrNotFound},
			"token, new":                 {wholly, "ns", uuid.NewString(), false, nil},
			"token, covered":             {wholly, "ns", free, true, nil},
			"token, not covered":         {wholly, "ns", apart, false, domain.ErrNotFound},
			"token, namespace of others": {wholly, "other", uuid.NewString(), false, domain.ErrNotFound},
			"narrow token, its own":      {partly, "ns", own, true, nil},
			"narrow token, not covered":  {partly, "ns", free, false, domain.ErrNotFound},
		} {
			request, err := w.resolve(test.caller, test.namespace, test.conversation)
			if !errors.Is(err, test.err) || (err == nil) != (test.err == nil) {
				t.Errorf("%s: got %v, want %v", name, err, test.err)
			} else if err == nil && (request.ConversationExists != test.begun || request.NamespaceID == "") {
				t.Errorf("%s: got %+v", name, request)
			}
		}
		w.must(w.ShareDataset(ctx, alice, dsRef("alice", "ns", "one"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		if request, err := w.resolve(user("bob"), "ns", free); err != nil || request.ConversationExists {
			t.Errorf("a guest, under the id of another's conversation: %+v, %v", request, err)
		}
	})
}

// TestTasksAreTheAskers has others, and tokens that do not cover a run, try all
// ways to read of it.
func TestTasksAreTheAskers(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")
		ctx, alice := t.Context(), user("alice")
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Editor}))
		wholly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		partly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		elsewhere := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "other"})
		earlier := w.ask(alice, "ns", uuid.NewString(), "earlier")
		w.must(w.finish(alice, earlier.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: json.RawMessage(`{}`)}))
		run := w.ask(alice, "ns", earlier.ConversationID, "?")
		w.must(sqlstoretest.Append(w, step(run.RunID, 0, 1)))

		for name, test := range map[string]struct {
			caller domain.Caller
			may    bool
		}{
			"the asker":             {alice, true},
			"a token for all of it": {wholly, true},
			"a token for a dataset": {partly, false},
			"a token for another":   {elsewhere, false},
			"an editor":             {user("bob"), false},
			"a stranger":            {user("carol"), false},
		} {
			for what, read := range map[string]func() (int, error){
				"task": func() (int, error) { _, err := w.Task(ctx, test.caller, "", run.RunID, true); return 1, err },
				"events": func() (int, error) {
					events, err := w.Events(ctx, test.caller, run.RunID, 0)
					return len(events), err
				},
				"event bytes": func() (int, error) {
					bytes, err := w.EventBytes(ctx, test.caller, run.RunID, 0)
					if err == nil && bytes == 0 {
						err = domain.ErrNotFound
					}
					return min(bytes, 1), err
				},
				"no events": func() (int, error) { _, err := w.Events(ctx, test.caller, run.RunID, 9); return 1, err },
				"turns": func() (int, error) {
					turns, err := w.RecentTurns(ctx, test.caller, run.ConversationID, 5)
					if err == nil && len(turns) == 0 {
						err = domain.ErrNotFound
					}
					return len(turns), err
				},
			} {
				n, err := read()
				if test.may && (err != nil || n != 1) {
					t.Errorf("%s, %s: %d, %v", name, what, n, err)
				}
				if !test.may && !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("%s, %s: got %d, %v, want not found", name, what, n, err)
				}
			}
			tasks, total, err := w.Tasks(ctx, test.caller, domain.TaskFilter{Limit: 10})
			if want := map[bool]int{true: 2}[test.may]; err != nil || len(tasks) != want || total != want {
				t.Errorf("%s lists %d of %d tasks, want %d: %v", name, len(tasks), total, want, err)
			}
		}
		if _, err := w.Task(ctx, alice, "another", run.RunID, false); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a task of another agent: %v", err)
		}
	})
}

func TestTaskLists(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		conversation := uuid.NewString()
		var changes []domain.TaskChange
		for i := range 25 {
			id := uuid.NewString()
			if i%5 == 0 {
				id = conversation
			}
			changes = append(changes, w.start(id))
		}
		// In one batch, so that they were changed at the same time.
		w.batch(changes...)
		before, err := w.Task(ctx, alice, "", changes[0].RunID, false)
		w.must(err)
		other := w.ask(alice, "ns", uuid.NewString(), "by another agent")

		for name, test := range map[string]struct {
			filter domain.TaskFilter
			want   int
		}{
			"all":               {domain.TaskFilter{}, 26},
			"one agent's":       {domain.TaskFilter{Agent: "nl2ql"}, 25},
			"one conversation":  {domain.TaskFilter{Agent: "nl2ql", ConversationID: conversation}, 5},
			"a state":           {domain.TaskFilter{State: "submitted"}, 26},
			"no such state":     {domain.TaskFilter{State: "working"}, 0},
			"changed then":      {domain.TaskFilter{StatusSince: before.UpdatedAt}, 26},
			"changed since now": {domain.TaskFilter{StatusSince: time.Now().Add(time.Hour)}, 0},
			"another agent's":   {domain.TaskFilter{Agent: other.Agent}, 1},
		} {
			for _, limit := range []int{1, 7, 10, 25, 100} {
				var listed []domain.Task
				for {
					test.filter.Limit = limit
					page, total, err := w.Tasks(ctx, alice, test.filter)
					w.must(err)
					if total != test.want || len(page) > limit {
						t.Fatalf("%s: a page of %d, total %d, want %d", name, len(page), total, test.want)
					}
					sizes, err := w.TaskSizes(ctx, alice, test.filter)
					w.must(err)
					if !slices.EqualFunc(page, sizes, func(task domain.Task, size int) bool { return len(task.Snapshot) == size }) {
						t.Errorf("%s: a page of %d, sizes %v", name, len(page), sizes)
					}
					listed = append(listed, page...)
					if len(page) < limit {
						break
					}
					test.filter.After = page[len(page)-1]
				}
				test.filter.After = domain.Task{}
				inOrder := slices.IsSortedFunc(listed, func(a, b domain.Task) int {
					if c := b.UpdatedAt.Compare(a.UpdatedAt); c != 0 {
						return c
					}
					return strings.Compare(b.RunID, a.RunID)
				})
				if len(listed) != test.want || !inOrder {
					t.Errorf("%s by %d: %d tasks, want %d, in order: %t", name, limit, len(listed), test.want, inOrder)
				}
			}
		}
	})
}

func TestEventPages(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		run := w.start(uuid.NewString())
		run.Events = events(0, 20)
		for _, i := range []int{9, 10, 11, 15} {
			run.Events[i].Body = json.RawMessage(`"` + strings.Repeat("x", 600<<10) + `"`)
		}
		run.Events[12].Body = json.RawMessage(`"` + strings.Repeat("x", 3<<20) + `"`)
		w.must(sqlstoretest.Append(w, run))
		var pages []string
		for after := int64(0); ; {
			page, err := w.Events(t.Context(), user("alice"), run.RunID, after)
			w.must(err)
			bytes := 0
			for _, event := range page {
				bytes += len(event.Body)
			}
			if measured, err := w.EventBytes(t.Context(), user("alice"), run.RunID, after); err != nil || measured != bytes {
				t.Errorf("after event %d: %d bytes, measured %d, %v", after, bytes, measured, err)
			}
			if len(page) == 0 {
				break
			}
			pages = append(pages, fmt.Sprint(page[0].Number, "-", page[len(page)-1].Number))
			after = page[len(page)-1].Number
		}
		if got, want := strings.Join(pages, " "), "1-8 9-11 12-13 14-20"; got != want {
			t.Errorf("pages: got %s, want %s", got, want)
		}
	})
}

func TestRecentTurns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		conversation := uuid.NewString()
		w.must(w.finish(alice, w.ask(alice, "ns", uuid.NewString(), "elsewhere").RunID, domain.RunOutcome{Status: domain.RunCompleted}))
		for i, status := range []domain.RunStatus{
			domain.RunCompleted, domain.RunFailed, domain.RunCompleted, domain.RunCompleted, "", domain.RunCompleted, ""} {
			last := w.ask(alice, "ns", conversation, fmt.Sprint(i))
			if status != "" {
				w.must(w.finish(alice, last.RunID, domain.RunOutcome{Status: status, Result: json.RawMessage(fmt.Sprint(i))}))
			}
		}
		for limit, want := range map[int]string{1: "5", 3: "5 3 2", 20: "5 3 2 0"} {
			turns, err := w.RecentTurns(ctx, alice, conversation, limit)
			w.must(err)
			var got []string
			for _, turn := range turns {
				if string(turn.Result) != turn.Question || turn.ResultBytes != 1 || turn.Status != domain.RunCompleted {
					t.Errorf("a turn: %+v", turn)
				}
				got = append(got, turn.Question)
			}
			if strings.Join(got, " ") != want {
				t.Errorf("last %d turns: got %v, want %s", limit, got, want)
			}
		}
		if turns, err := w.RecentTurns(ctx, alice, uuid.NewString(), 5); err != nil || len(turns) != 0 {
			t.Errorf("of no conversation: %v, %v", turns, err)
		}
		large := json.RawMessage(`"` + strings.Repeat("x", domain.InlineResult) + `"`)
		w.must(w.finish(alice, w.ask(alice, "ns", conversation, "large").RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: large}))
		turns, err := w.RecentTurns(ctx, alice, conversation, 1)
		if w.must(err); turns[0].Result != nil || turns[0].ResultBytes != len(large) {
			t.Errorf("with a large result: %d bytes of %d", len(turns[0].Result), turns[0].ResultBytes)
		}
	})
}
