package sqlstore_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// events are some events after a number.
func events(after int64, count int) []domain.Event {
	list := make([]domain.Event, count)
	for i := range list {
		number := after + int64(i) + 1
		list[i] = domain.Event{Number: number, Kind: domain.EventStatus,
			Body: json.RawMessage(fmt.Sprintf(`{"statusUpdate":{"number":%d,"text":"%s"}}`, number, strings.Repeat("y", 200)))}
	}
	return list
}

// start is the change that makes a run of alice's in her namespace ns.
func (w world) start(conversationID string) domain.TaskChange {
	w.t.Helper()
	question := domain.Question{Agent: "nl2ql", Namespace: nsRef("alice", "ns"), ConversationID: conversationID, Text: "How many?"}
	start, err := sqlstoretest.Start(w.t.Context(), w, user("alice"), question)
	w.must(err)
	return start
}

// step is a change of some events by the host that holds the run.
func step(runID string, after int64, count int) domain.TaskChange {
	return domain.TaskChange{
		RunID: runID, Holder: sqlstoretest.Holder, After: after, Events: events(after, count),
		State: "working", Snapshot: json.RawMessage(fmt.Sprintf(`{"last":%d}`, after+int64(count)))}
}

// ending makes a change end its run.
func ending(change domain.TaskChange, status domain.RunStatus) domain.TaskChange {
	change.State, change.Outcome = string(status), &domain.RunOutcome{Status: status}
	return change
}

// batch appends changes while the log's writer is held up, so that it finds them
// all at once, and gives what came of each.
func (w world) batch(changes ...domain.TaskChange) []error {
	results, order := w.batches(changes...)
	if !slices.IsSorted(order) {
		w.t.Errorf("told of out of order: %v", order)
	}
	return results
}

// batches is batch for changes that the log may write in another order, which it gives too.
func (w world) batches(changes ...domain.TaskChange) (results []error, order []int) {
	held, release := make(chan struct{}), make(chan struct{})
	w.Append(step(uuid.NewString(), 0, 1), func(error) {
		close(held)
		<-release
	})
	<-held
	results = make([]error, len(changes))
	var all sync.WaitGroup
	all.Add(len(changes))
	for i, change := range changes {
		w.Append(change, func(err error) {
			results[i] = err
			order = append(order, i)
			all.Done()
		})
	}
	close(release)
	all.Wait()
	return results, order
}

// of makes a change one of a run of an owner.
func of(owner string, change domain.TaskChange) domain.TaskChange {
	change.Owner = owner
	return change
}

// TestOwnersTakeTurns: small changes do not wait for large ones of other owners that were
// appended before, and owners of large ones take turns.
func TestOwnersTakeTurns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		large := json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)
		var changes []domain.TaskChange
		for range 3 {
			event := step(uuid.NewString(), 0, 1)
			event.Events[0].Body = large
			changes = append(changes, of("bob", event))
		}
		for range 2 {
			result := ending(step(uuid.NewString(), 0, 1), domain.RunCompleted)
			result.Outcome.Result = large
			changes = append(changes, of("carol", result))
		}
		run := w.start("")
		changes = append(changes, of("alice", run), of("alice", step(run.RunID, 0, 2)), of("alice", step(run.RunID, 2, 1)))
		_, order := w.batches(changes...)
		if want := []int{0, 5, 6, 7, 3, 1, 4, 2}; !slices.Equal(order, want) {
			t.Errorf("written in the order %v, want %v", order, want)
		}
		if got := len(w.log(run.RunID)); got != 3 {
			t.Errorf("%d events, want 3", got)
		}
	})
}

// log reads all events of a run as alice and checks that none is missing.
func (w world) log(runID string) []domain.Event {
	w.t.Helper()
	var all []domain.Event
	for {
		page, err := w.Events(w.t.Context(), user("alice"), runID, int64(len(all)))
		w.must(err)
		if len(page) == 0 {
			return all
		}
		for _, event := range page {
			if event.Number != int64(len(all))+1 {
				w.t.Fatalf("event %d comes after %d", event.Number, len(all))
			}
			all = append(all, event)
		}
	}
}

func (w world) expectKinds(results []error, want ...error) {
	w.t.Helper()
	for i, err := range results {
		if !errors.Is(err, want[i]) || (err == nil) != (want[i] == nil) {
			w.t.Errorf("change %d: got %v, want %v", i, err, want[i])
		}
	}
}

func TestAppendAndRead(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		start := w.start(uuid.NewString())
		start.Events = []domain.Event{{Number: 1, Kind: domain.EventTask, Body: json.RawMessage(`{"task":{"text":"\u0000 \"ü\" {}\\"}}`)}}
		w.must(sqlstoretest.Append(w, start))

		second := step(start.RunID, 1, 2)
		second.Events[0].Kind = domain.EventArtifact
		second.LastNodeID = "plan"
		w.must(sqlstoretest.Append(w, second))
		task, err := w.Task(ctx, alice, "nl2ql", start.RunID, true)
		w.must(err)
		if !task.Open || task.State != "working" || task.LastEvent != 3 || string(task.Snapshot) != `{"last":3}` ||
			task.Agent != "nl2ql" || task.ConversationID != start.Start.ConversationID || task.UpdatedAt.IsZero() {
			t.Errorf("a running task: %+v", task)
		}
		if len(task.Artifacts) != 1 || task.Artifacts[0].Number != 2 {
			t.Errorf("its artifacts: %+v", task.Artifacts)
		}
		run, err := w.Run(ctx, alice, start.RunID)
		w.must(err)
		if run.Status != domain.RunRunning || run.LastNodeID != "plan" {
			t.Errorf("a running run: %+v", run)
		}

		third := ending(step(start.RunID, 3, 0), domain.RunFailed)
		third.Outcome.ErrorMessage = "no luck"
		w.must(sqlstoretest.Append(w, third))
		if task, err = w.Task(ctx, alice, "", start.RunID, false); err != nil || task.Open || task.State != "failed" || task.Artifacts != nil {
			t.Errorf("an ended task: %+v, %v", task, err)
		}
		if run, err = w.Run(ctx, alice, start.RunID); err != nil || run.Status != domain.RunFailed ||
			run.ErrorMessage != "no luck" || run.LastNodeID != "plan" {
			t.Errorf("an ended run: %+v, %v", run, err)
		}
		log := w.log(start.RunID)
		if len(log) != 3 || log[0].Kind != domain.EventTask || string(log[0].Body) != string(start.Events[0].Body) ||
			log[1].Kind != domain.EventArtifact || log[2].Kind != domain.EventStatus {
			t.Errorf("the log: %+v", log)
		}
	})
}

func TestAppendRefusesWhatDoesNotFollow(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		start := w.start(uuid.NewString())
		start.Events = events(0, 2)
		w.must(sqlstoretest.Append(w, start))

		stranger := func(change domain.TaskChange, holder string) domain.TaskChange {
			change.Holder = holder
			return change
		}
		numbered := step(start.RunID, 2, 2)
		numbered.Events[1].Number = 7
		late := w.start(uuid.NewString())
		late.After, late.Events = 2, events(2, 1)
		refused := map[string]domain.TaskChange{
			"after an event to come":      step(start.RunID, 3, 1),
			"after an earlier event":      step(start.RunID, 1, 1),
			"with a gap":                  numbered,
			"by another host":             stranger(step(start.RunID, 2, 1), "other"),
			"by somebody, without an end": stranger(step(start.RunID, 2, 1), ""),
			"a start in the middle":       late,
			"the same start again":        start,
		}
		for name, change := range refused {
			if err := sqlstoretest.Append(w, change); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: got %v, want conflict", name, err)
			}
		}
		if err := sqlstoretest.Append(w, step(uuid.NewString(), 2, 1)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("no such run: got %v, want not found", err)
		}
		w.must(sqlstoretest.Append(w, ending(stranger(step(start.RunID, 2, 1), ""), domain.RunFailed)))
		for name, change := range map[string]domain.TaskChange{
			"more of an ended run":   step(start.RunID, 3, 1),
			"an end, for a 2nd time": ending(step(start.RunID, 3, 0), domain.RunCompleted),
		} {
			if err := sqlstoretest.Append(w, change); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s: got %v, want conflict", name, err)
			}
		}
		if log := w.log(start.RunID); len(log) != 3 {
			t.Errorf("the log has %d events, want 3", len(log))
		}
	})
}

func TestOneBatch(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		conversation := uuid.NewString()
		whole, other, third := w.start(conversation), w.start(conversation), w.start(uuid.NewString())
		whole.Events, other.Events = events(0, 1), events(0, 1)
		named := step(whole.RunID, 1, 2)
		named.LastNodeID = "answer"
		ended := ending(step(whole.RunID, 3, 1), domain.RunCompleted)
		ended.Outcome.Result = json.RawMessage(`{"response":"Two."}`)
		canceled := ending(step(other.RunID, 1, 1), domain.RunFailed)
		canceled.Holder = ""
		conflict := domain.ErrConflict
		w.expectKinds(w.batch(
			whole, other, named, step(other.RunID, 3, 1), ended, third, step(whole.RunID, 4, 1), canceled,
			step(other.RunID, 2, 1), step(third.RunID, 5, 1), step(third.RunID, 6, 1), step(third.RunID, 0, 3),
		),
			nil, nil, nil, conflict, nil, nil, conflict, nil,
			conflict, conflict, conflict, nil)
		run, err := w.Run(t.Context(), user("alice"), whole.RunID)
		w.must(err)
		if run.Status != domain.RunCompleted || string(run.Result) != `{"response":"Two."}` || run.LastNodeID != "answer" {
			t.Errorf("a run that was written at once: %+v", run)
		}
		for id, want := range map[string]int{whole.RunID: 4, other.RunID: 2, third.RunID: 3} {
			if log := w.log(id); len(log) != want {
				t.Errorf("a log of %d events, want %d", len(log), want)
			}
		}
	})
}

// TestOneBadChange has the database refuse changes that come with good ones.
func TestOneBadChange(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		running, good := w.start(uuid.NewString()), w.start(uuid.NewString())
		w.must(sqlstoretest.Append(w, running))
		odd, homeless, doubled := w.start(uuid.NewString()), w.start(uuid.NewString()), w.start(uuid.NewString())
		odd.Events = []domain.Event{{Number: 1, Kind: "odd", Body: json.RawMessage(`{}`)}}
		homeless.Start.NamespaceID = uuid.NewString()
		doubled.RunID = running.RunID

		results := w.batch(odd, good, homeless, step(running.RunID, 0, 1), step(homeless.RunID, 0, 1), step(good.RunID, 0, 2), doubled)
		if results[0] == nil {
			t.Error("an event of no known kind was written")
		}
		w.expectKinds(results[1:], nil, domain.ErrNotFound, nil, domain.ErrNotFound, nil, domain.ErrConflict)
		if n := len(w.log(good.RunID)); n != 2 {
			t.Errorf("the good run has %d events", n)
		}
		w.must(sqlstoretest.Append(w, step(running.RunID, 1, 1)))
	})
}

func TestManyRunsAtOnce(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		const each = 12
		var counts sync.Map
		together(func(i int) {
			random := rand.New(rand.NewPCG(uint64(i), 7))
			var pending sync.WaitGroup
			for range each {
				change := w.start(uuid.NewString())
				after, steps := int64(0), 1+random.IntN(12)
				for n := range steps {
					if n == steps-1 {
						change = ending(change, domain.RunCompleted)
					}
					pending.Add(1)
					w.Append(change, func(err error) {
						if err != nil {
							t.Error(err)
						}
						pending.Done()
					})
					after += int64(len(change.Events))
					counts.Store(change.RunID, int(after))
					change = step(change.RunID, after, random.IntN(4))
				}
			}
			pending.Wait()
		})
		runs := 0
		counts.Range(func(id, want any) bool {
			runs++
			if got := len(w.log(id.(string))); got != want {
				t.Errorf("a log of %d events, want %d", got, want)
			}
			return true
		})
		if tasks, total, err := w.Tasks(t.Context(), user("alice"), domain.TaskFilter{State: "completed", Limit: 100}); err != nil ||
			runs != writers*each || total != runs || len(tasks) != min(runs, 100) {
			t.Errorf("%d runs, of which %d are completed, %d listed: %v", runs, total, len(tasks), err)
		}
	})
}

func TestWhatARunIsAskedInMayGo(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		missing := func(name string, change domain.TaskChange) {
			t.Helper()
			if err := sqlstoretest.Append(w, change); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: got %v, want not found", name, err)
			}
		}
		run := w.ask(alice, "ns", uuid.NewString(), "?")
		w.must(w.DeleteRun(ctx, alice, run.RunID))
		missing("a deleted run", step(run.RunID, 0, 1))

		run = w.ask(alice, "ns", uuid.NewString(), "?")
		next := w.start(run.ConversationID)
		if !next.Start.ConversationExists {
			t.Error("the conversation is not begun")
		}
		w.must(w.DeleteConversation(ctx, alice, run.ConversationID))
		missing("a run of a deleted conversation", step(run.RunID, 0, 1))
		missing("a question in a deleted conversation", next)

		open, late := w.start(uuid.NewString()), w.start(uuid.NewString())
		w.must(sqlstoretest.Append(w, open))
		w.must(w.DeleteNamespace(ctx, alice, nsRef("alice", "ns"), true))
		missing("a question in a deleted namespace", late)
		w.must(sqlstoretest.Append(w, step(open.RunID, 0, 1)))
	})
}

func TestCloseWritesWhatIsPending(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]sqlstore.Config{
		"sqlite":   {Path: filepath.Join(t.TempDir(), "parley.db")},
		"postgres": databases(t)["postgres"],
	} {
		store := open(t, cfg)
		if err := store.Migrate(t.Context()); err != nil {
			t.Fatal(err)
		}
		w := newWorld(t, store)
		start := w.start(uuid.NewString())
		results := make(chan error, 101)
		w.Append(start, func(err error) { results <- err })
		for n := range int64(100) {
			w.Append(step(start.RunID, n, 1), func(err error) { results <- err })
		}
		for range 2 {
			w.must(store.Close())
		}
		for range 101 {
			if err := <-results; err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := sqlstoretest.Append(w, step(start.RunID, 100, 1)); !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("%s: append to a closed store: %v", name, err)
		}
		w.Store = open(t, cfg)
		if log := w.log(start.RunID); len(log) != 100 {
			t.Errorf("%s: %d events, want 100", name, len(log))
		}
	}
}
