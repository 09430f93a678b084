package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"golang.org/x/sync/errgroup"

	"parley/a2aserver/a2ajson"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// asking asks which colour is meant, and completes with the answer.
var asking script = func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	if request.StoredTask == nil {
		colours := domain.Input{Question: "Which colour?", Options: []domain.InputOption{{ID: "1", Label: "red"}, {ID: "2", Label: "blue"}}}
		info := a2a.TaskInfo{TaskID: request.TaskID, ContextID: request.ContextID}
		_ = yield(working(request), nil) &&
			yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateInputRequired, inputMessage(info, colours)), nil)
		return
	}
	history := request.StoredTask.History
	_ = yield(working(request), nil) &&
		yield(artifact(request, "answer", a2a.NewTextPart(history[len(history)-1].Parts[0].Text())), nil) &&
		yield(completed(request), nil)
}

func reply(to *a2a.Task, text string) *a2a.SendMessageRequest {
	request := question(text)
	request.Message.TaskID = to.ID
	return request
}

func isUnsupported(err error) bool { return errors.Is(err, a2a.ErrUnsupportedOperation) }

func TestAskingBack(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, asking).service("echo")
		task := sendTask(t, s, alice, toShop("Paint it"))
		if task.Status.State != a2a.TaskStateInputRequired || task.Status.Message.Parts[0].Text() != "Which colour?\n1. red\n2. blue" {
			t.Fatalf("asked: %s", toText(t, task))
		}
		if read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: task.ID}); err != nil || toText(t, read) != toText(t, task) {
			t.Errorf("GetTask: %s, %v", toText(t, read), err)
		}
		if _, err := s.SendMessage(as(t, bob), reply(task, "red")); !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("somebody else's answer: %v", err)
		}
		done := sendTask(t, s, alice, reply(task, "red"))
		if done.ID != task.ID || done.Status.State != a2a.TaskStateCompleted || done.Artifacts[0].Parts[0].Text() != "red" {
			t.Errorf("answered: %s", toText(t, done))
		}
		if got := []string{done.History[0].Parts[0].Text(), done.History[1].Parts[0].Text(), done.History[2].Parts[0].Text()}; got[0] != "Paint it" || got[1] != "Which colour?\n1. red\n2. blue" || got[2] != "red" {
			t.Errorf("history: %q", got)
		}
		if _, err := s.SendMessage(as(t, alice), reply(task, "blue")); !isUnsupported(err) {
			t.Errorf("answered twice: %v", err)
		}
	})
}

// With a context alone, the answer belongs to the one question that is open there.
func TestAnswerByContext(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, asking).service("echo")
		task := sendTask(t, s, alice, toShop("Paint it"))
		answer := question("blue")
		answer.Message.ContextID = task.ContextID
		if done := sendTask(t, s, alice, answer); done.ID != task.ID || done.Status.State != a2a.TaskStateCompleted {
			t.Errorf("answered: %s", toText(t, done))
		}
		if again := sendTask(t, s, alice, answer); again.ID != task.ID || again.Status.State != a2a.TaskStateCompleted {
			t.Errorf("the answer again: %s", toText(t, again))
		}
		other := question("red")
		other.Message.ID, other.Message.ContextID = answer.Message.ID, task.ContextID
		if sent, err := s.SendMessage(as(t, alice), other); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("another answer with its id: %v, %v", sent, err)
		}
		elsewhere := toShop("Paint it")
		elsewhere.Message.ID = answer.Message.ID
		if sent, err := s.SendMessage(as(t, alice), elsewhere); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("a question with its id: %v, %v", sent, err)
		}
		anew := question("blue")
		anew.Message.ContextID = task.ContextID
		if next := sendTask(t, s, alice, anew); next.ID == task.ID || next.Status.State != a2a.TaskStateInputRequired {
			t.Errorf("a new question: %s", toText(t, next))
		}
	})
}

// TestAnswerTwiceAtOnce sends the same answer twice at once: both give its task.
func TestAnswerTwiceAtOnce(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, asking).service("echo")
		for range 10 {
			task := sendTask(t, s, alice, toShop("Paint it"))
			answer := reply(task, "blue")
			var group errgroup.Group
			for range 2 {
				group.Go(func() error {
					sent, err := s.SendMessage(as(t, alice), answer)
					if err == nil && sent.(*a2a.Task).Status.State != a2a.TaskStateCompleted {
						err = errors.New(toText(t, sent))
					}
					return err
				})
			}
			if err := group.Wait(); err != nil {
				t.Error(err)
			}
		}
	})
}

// Streams end at the question, and the answer's stream has what follows.
func TestStreamsOfWaitingTasks(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, asking).service("echo")
		first, err := s.stream(as(t, alice), toShop("Paint it"))
		if err != nil {
			t.Fatal(err)
		}
		states, id := drain(t, first)
		if len(states) != 2 || states[1] != a2a.TaskStateInputRequired {
			t.Fatalf("first stream: %v", states)
		}
		// Who subscribes while the task waits sees how it goes on.
		subscribed, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: id}, -1)
		if err != nil {
			t.Fatal(err)
		}
		missed, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: id}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if states, _ := drain(t, missed); len(states) != 1 || states[0] != a2a.TaskStateInputRequired {
			t.Errorf("missed: %v", states)
		}
		second, err := s.stream(as(t, alice), reply(&a2a.Task{ID: id}, "red"))
		if err != nil {
			t.Fatal(err)
		}
		if states, _ := drain(t, second); len(states) != 3 || states[2] != a2a.TaskStateCompleted {
			t.Errorf("second stream: %v", states)
		}
		if states, _ := drain(t, subscribed); len(states) != 4 || states[0] != a2a.TaskStateInputRequired || states[3] != a2a.TaskStateCompleted {
			t.Errorf("subscribed: %v", states)
		}
		all, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: id}, 0)
		if err != nil {
			t.Fatal(err)
		}
		if states, _ := drain(t, all); len(states) != 5 {
			t.Errorf("replayed: %v", states)
		}
	})
}

// drain reads a subscription to its end: the states of its events, "" for artifacts.
func drain(t *testing.T, from subscription) (states []a2a.TaskState, id a2a.TaskID) {
	t.Helper()
	defer from.close()
	for {
		stored, err := from.next(t.Context(), nil)
		if errors.Is(err, io.EOF) {
			return states, id
		}
		if err != nil {
			t.Fatal(err)
		}
		event, err := a2ajson.Decode(stored)
		if err != nil {
			t.Fatal(err)
		}
		id = event.TaskInfo().TaskID
		switch event := event.(type) {
		case *a2a.TaskStatusUpdateEvent:
			states = append(states, event.Status.State)
		case *a2a.Task:
			states = append(states, event.Status.State)
		default:
			states = append(states, "")
		}
	}
}

// Another host takes the answer, and a waiting run is not taken for a dead one.
func TestAnswerOnAnotherHost(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		first := newHost(t, store, asking)
		s := first.service("echo")
		task := sendTask(t, s, alice, toShop("Paint it"))
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := newHost(t, store, asking)
		second.claimRuns()
		s = second.service("echo")
		read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || read.Status.State != a2a.TaskStateInputRequired {
			t.Fatalf("after the first host: %s, %v", toText(t, read), err)
		}
		if done := sendTask(t, s, alice, reply(task, "red")); done.Status.State != a2a.TaskStateCompleted {
			t.Errorf("answered: %s", toText(t, done))
		}
	})
}

func TestWaitingTaskIsCanceled(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, asking).service("echo")
	task := sendTask(t, s, alice, toShop("Paint it"))
	canceled, err := s.CancelTask(as(t, alice), &a2a.CancelTaskRequest{ID: task.ID})
	if err != nil || canceled.Status.State != a2a.TaskStateCanceled {
		t.Errorf("canceled: %s, %v", toText(t, canceled), err)
	}
	if _, err := s.SendMessage(as(t, alice), reply(task, "red")); !isUnsupported(err) {
		t.Errorf("answered: %v", err)
	}
}

func TestWaitingTaskExpires(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		first := newHost(t, store, asking).service("echo")
		task := sendTask(t, first, alice, toShop("Paint it"))
		h := newHost(t, store, asking, func(cfg *Config) { cfg.InputTimeout = -time.Second })
		h.claimRuns()
		s := h.service("echo")
		subscription, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: task.ID}, 2)
		if err == nil {
			drain(t, subscription)
		} else if !isUnsupported(err) {
			t.Fatal(err)
		}
		read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil || read.Status.State != a2a.TaskStateFailed {
			t.Fatalf("%s, %v", toText(t, read), err)
		}
		data, _ := json.Marshal(read.Status.Message.Parts[1].Content)
		if run, err := store.Run(t.Context(), alice, string(task.ID)); err != nil || run.Status != domain.RunExpired || !json.Valid(data) {
			t.Errorf("%+v, %v", run, err)
		}
	})
}

// Readers of runs see the question and answer it, too.
func TestAnswerForRuns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		h := newHost(t, store, asking)
		asked, err := h.Ask(t.Context(), alice, domain.Question{
			Agent: "echo", Text: "Paint it", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, err := range h.Follow(t.Context(), alice, asked.RunID) {
			if err != nil {
				t.Fatal(err)
			}
		}
		input, err := h.Input(t.Context(), alice, asked.RunID)
		if err != nil || input == nil || input.Question != "Which colour?\n1. red\n2. blue" {
			t.Fatalf("%+v, %v", input, err)
		}
		if _, err := h.Input(t.Context(), bob, asked.RunID); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("somebody else reads it: %v", err)
		}
		if err := h.Answer(t.Context(), bob, asked.RunID, "red"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("somebody else answers: %v", err)
		}
		for _, bad := range []string{"", " \n", "a\x00b"} {
			if err := h.Answer(t.Context(), alice, asked.RunID, bad); !errors.Is(err, domain.ErrInvalid) || !strings.HasPrefix(err.Error(), "the answer must not") {
				t.Errorf("answer %q: %v", bad, err)
			}
		}
		if err := h.Answer(t.Context(), alice, asked.RunID, "red"); err != nil {
			t.Fatal(err)
		}
		if err := h.Answer(t.Context(), alice, asked.RunID, "red"); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("answered twice: %v", err)
		}
		last := domain.Progress{}
		for progress, err := range h.Follow(t.Context(), alice, asked.RunID) {
			if last = progress; err != nil {
				t.Fatal(err)
			}
		}
		run, err := store.Run(t.Context(), alice, asked.RunID)
		if err != nil || run.Status != domain.RunCompleted || last.Text != string(domain.EventStatus) {
			t.Errorf("%+v, %+v, %v", run, last, err)
		}
		if input, err := h.Input(t.Context(), alice, asked.RunID); err != nil || input != nil {
			t.Errorf("it still asks %+v, %v", input, err)
		}
	})
}

// A follower who comes between the answer and what follows it does not take the question
// for the end.
func TestFollowedBetweenAnswerAndEvents(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		proceed := make(gate)
		slow := script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			if request.StoredTask != nil {
				proceed.wait(ctx)
			}
			asking(ctx, request, yield)
		})
		s := newHost(t, store, slow).service("echo")
		task := sendTask(t, s, alice, toShop("Paint it"))
		answer := reply(task, "red")
		answer.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		sendTask(t, s, alice, answer)
		missed, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: task.ID}, 0)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := missed.next(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
		}
		proceed.open()
		if states, _ := drain(t, missed); len(states) != 3 || states[2] != a2a.TaskStateCompleted {
			t.Errorf("followed: %v", states)
		}
	})
}

// The end of the execution that asked does not take the place of the one that goes on.
func TestDetachOfAnEarlierExecution(t *testing.T) {
	t.Parallel()
	f, first, second := &broadcaster{}, &run{}, &run{}
	f.attach(first, 0)
	f.attach(second, 2)
	f.detach(first)
	if f.worker() != second {
		t.Error("the run that goes on is no longer attached")
	}
	f.detach(second)
	if f.worker() != nil {
		t.Error("the run is still attached")
	}
}

func TestAnswersAreChecked(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, asking).service("echo")
	task := sendTask(t, s, alice, toShop("Paint it"))
	for name, test := range map[string]struct {
		parts []*a2a.Part
		want  error
	}{
		"blank": {[]*a2a.Part{a2a.NewTextPart(" ")}, a2a.ErrInvalidParams},
		"NUL":   {[]*a2a.Part{a2a.NewTextPart("a\x00b")}, a2a.ErrInvalidParams},
		"long":  {[]*a2a.Part{a2a.NewTextPart(strings.Repeat("x", domain.MaxQuestion+1))}, a2a.ErrInvalidParams},
		"data":  {[]*a2a.Part{a2a.NewTextPart("red"), a2a.NewDataPart(map[string]any{"option": 1})}, a2a.ErrUnsupportedContentType},
	} {
		answer := reply(task, "")
		answer.Message.Parts = test.parts
		if _, err := s.SendMessage(as(t, alice), answer); !errors.Is(err, test.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done := sendTask(t, s, alice, reply(task, "red")); done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("answered: %s", toText(t, done))
	}
}

// A read-only token answers what it asked itself, and nothing else.
func TestReadOnlyTokenAnswers(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		reader := readOnly(t, store, "shop")
		h := newHost(t, store, asking)
		s := h.service("echo")
		task := sendTask(t, s, alice, toShop("Paint it"))
		if _, err := s.SendMessage(as(t, reader), reply(task, "red")); !errors.Is(err, domain.ErrReadOnlyToken) {
			t.Errorf("another token's run: %v", err)
		}
		if err := h.Answer(t.Context(), reader, string(task.ID), "red"); !errors.Is(err, domain.ErrReadOnlyToken) {
			t.Errorf("another token's run: %v", err)
		}
		own := sendTask(t, s, reader, toShop("Paint it"))
		if done := sendTask(t, s, reader, reply(own, "red")); done.Status.State != a2a.TaskStateCompleted {
			t.Errorf("its own run: %s", toText(t, done))
		}
	})
}
