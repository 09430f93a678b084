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

	"parley/a2aserver/a2ajson"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

func TestSendMessageGivesTheWholeTask(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, fourEvents).service("echo")
		task := sendTask(t, s, alice, toShop("What now?"))
		if task.Status.State != a2a.TaskStateCompleted || len(task.Artifacts) != 2 || task.Artifacts[0].Parts[0].Text() != "What now?" {
			t.Errorf("SendMessage gave %s", toText(t, task))
		}
		read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: task.ID})
		if err != nil {
			t.Fatal(err)
		}
		// Byte for byte: the keys of data keep their order.
		if got, want := toText(t, read), toText(t, task); got != want {
			t.Errorf("GetTask gave\n%s\nSendMessage gave\n%s", got, want)
		}
		if !strings.Contains(toText(t, read), `{"z":1,"a":[2,{"y":3,"b":4}]}`) {
			t.Errorf("the data was rewritten: %s", toText(t, read))
		}
		run, err := store.Run(t.Context(), alice, string(task.ID))
		if err != nil || run.Status != domain.RunCompleted || run.ConversationID != task.ContextID || run.Question != "What now?" || run.LastNodeID != "status" {
			t.Errorf("run = %+v, %v", run, err)
		}
	})
}

func TestReturnImmediately(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	hold := make(gate)
	s := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		hold.wait(ctx)
		fourEvents(ctx, request, yield)
	})).service("echo")
	request := toShop("later")
	none := 0
	request.Config = &a2a.SendMessageConfig{ReturnImmediately: true, HistoryLength: &none}
	task := sendTask(t, s, alice, request)
	if task.Status.State != a2a.TaskStateSubmitted || len(task.History) != 0 {
		t.Errorf("at once: %s", toText(t, task))
	}
	hold.open()
	waittest.Until(t, "the task is completed", func() bool {
		read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: task.ID})
		return err == nil && read.Status.State == a2a.TaskStateCompleted
	})
}

// What an agent does wrong ends its run, with words that say nothing of how.
func TestBadAgents(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	for name, agent := range map[string]script{
		"panics": func(context.Context, *a2asrv.ExecutorContext, func(a2a.Event, error) bool) { panic("secret") },
		"fails": func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, errors.New("secret"))
		},
		"is busy": func(_ context.Context, _ *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(nil, domain.Errorf(domain.ErrTooMany, "secret"))
		},
		"ends": func(_ context.Context, r *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(working(r), nil)
		},
		"no JSON": func(_ context.Context, r *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(artifact(r, "x", a2a.NewDataPart(func() {})), nil)
		},
		"too slow": func(ctx context.Context, _ *a2asrv.ExecutorContext, _ func(a2a.Event, error) bool) { <-ctx.Done() },
		"too late": func(ctx context.Context, r *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			<-ctx.Done()
			yield(completed(r), nil)
		},
		"yields on": func(_ context.Context, r *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			_ = yield(nil, errors.New("secret")) && yield(completed(r), nil)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHost(t, store, agent, func(cfg *Config) {
				if strings.HasPrefix(name, "too") {
					cfg.RunTimeout = 50 * time.Millisecond
				}
			})
			s := h.service("echo")
			sent := sendTask(t, s, alice, toShop("?"))
			text := toText(t, sent)
			if sent.Status.State != a2a.TaskStateFailed || strings.Contains(text, "secret") || strings.Contains(text, ".go") {
				t.Errorf("task = %s", text)
			}
		})
	}
}

// A subscription gets every event once, in order, wherever it starts: from memory or
// from the log, while the run goes on or after.
func TestTailsAreWhole(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		const count = 60
		steps := make(chan struct{})
		h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			for range count - 1 {
				select {
				case <-steps:
				case <-ctx.Done():
					return
				}
				// More than is kept in memory.
				if !yield(artifact(request, "big", a2a.NewTextPart(strings.Repeat("x", 20<<10))), nil) {
					return
				}
			}
			yield(completed(request), nil)
		}))
		asked, err := h.Ask(t.Context(), alice, domain.Question{Agent: "echo", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, Text: "?"})
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan int64)
		follow := func(after int64) {
			subscription := h.follow(alice, asked.RunID, after)
			defer subscription.close()
			for at := after; ; {
				event, err := subscription.next(t.Context(), nil)
				if errors.Is(err, io.EOF) {
					read <- at
					return
				}
				if at++; err != nil || event.Number != at {
					t.Errorf("event %d: %d, %v", at, event.Number, err)
					read <- -1
					return
				}
			}
		}
		subscriptions := 0
		for i := range count - 1 {
			if i%7 == 0 {
				go follow(int64(i / 2))
				subscriptions++
			}
			steps <- struct{}{}
		}
		go follow(0)
		for range subscriptions + 1 {
			if got := <-read; got != count {
				t.Errorf("a subscription ended at event %d of %d", got, count)
			}
		}
		waittest.Until(t, "nobody follows", func() bool { return len(h.broadcasters.all()) == 0 })
	})
}

func TestCancel(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		stopped := make(chan struct{})
		h := newHost(t, store, script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
			yield(working(request), nil)
			<-ctx.Done()
			close(stopped)
			yield(completed(request), nil)
		}))
		s := h.service("echo")
		stream, err := s.stream(as(t, alice), toShop("?"))
		if err != nil {
			t.Fatal(err)
		}
		defer stream.close()
		first, err := stream.next(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		event, err := a2ajson.Decode(first)
		if err != nil {
			t.Fatal(err)
		}
		id := event.TaskInfo().TaskID
		canceled, err := s.CancelTask(as(t, alice), &a2a.CancelTaskRequest{ID: id})
		if err != nil || canceled.Status.State != a2a.TaskStateCanceled {
			t.Fatalf("CancelTask = %s, %v", toText(t, canceled), err)
		}
		<-stopped
		last, err := stream.next(t.Context(), nil)
		if err != nil || last.Number != 2 || !strings.Contains(string(last.Body), "TASK_STATE_CANCELED") {
			t.Errorf("the stream's last event is %d %s, %v", last.Number, last.Body, err)
		}
		if more, err := stream.next(t.Context(), nil); !errors.Is(err, io.EOF) {
			t.Errorf("after the end: %d, %v", more.Number, err)
		}
		if _, err := s.CancelTask(as(t, alice), &a2a.CancelTaskRequest{ID: id}); !errors.Is(err, a2a.ErrTaskNotCancelable) {
			t.Errorf("again: %v", err)
		}
		if run, err := store.Run(t.Context(), alice, string(id)); err != nil || run.Status != domain.RunFailed {
			t.Errorf("run = %+v, %v", run, err)
		}
	})
}

func toText(t testing.TB, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
