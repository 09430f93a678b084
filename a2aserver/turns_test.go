package a2aserver

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/fair"
)

// One user's questions wait for each other, and are turned away when there are
// too many; another user's do not.
func TestTurns(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	shop := domain.NamespaceRef{Owner: "alice", Name: "shop"}
	if err := store.ShareNamespace(t.Context(), alice, shop, domain.Grant{Username: "bob", Role: domain.Viewer}); err != nil {
		t.Fatal(err)
	}
	hold := make(gate)
	agent := script(func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if question, _ := domain.QuestionFrom(ctx); question.Caller == alice {
			hold.wait(ctx)
		}
		fourEvents(ctx, request, yield)
	})
	h := newHost(t, store, agent, func(cfg *Config) { cfg.MaxRuns, cfg.MaxWorking, cfg.UserRuns = 4+2*queuedPerSlot, 4, 1 })
	server := serveHost(t, h)
	s := h.service("echo")
	begin := func() *a2a.Task {
		t.Helper()
		request := toShop("?")
		request.Config = &a2a.SendMessageConfig{ReturnImmediately: true}
		return sendTask(t, s, alice, request)
	}
	tasks := []*a2a.Task{begin()}
	for range queuedPerSlot {
		tasks = append(tasks, begin())
	}

	for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
		response := postAs(t, server, alice, rpcText(method, toShop("one more")))
		text, err := io.ReadAll(response.Body)
		if err != nil || response.StatusCode != http.StatusTooManyRequests || response.Header.Get("Retry-After") == "" ||
			!strings.Contains(string(text), `"RESOURCE_EXHAUSTED"`) {
			t.Errorf("%s, one too many: %s %s, %v", method, response.Status, text, err)
		}
	}
	if sent, err := s.SendMessage(as(t, bob), toShop("?")); err != nil || sent.(*a2a.Task).Status.State != a2a.TaskStateCompleted {
		t.Errorf("another user: %s, %v", toText(t, sent), err)
	}
	waiting := tasks[len(tasks)-1]
	if canceled, err := s.CancelTask(as(t, alice), &a2a.CancelTaskRequest{ID: waiting.ID}); err != nil || canceled.Status.State != a2a.TaskStateCanceled {
		t.Errorf("cancel one that waits: %s, %v", toText(t, canceled), err)
	}
	hold.open()
	for _, task := range tasks[:len(tasks)-1] {
		waittest.Until(t, "what waited is completed", func() bool {
			read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: task.ID})
			return err == nil && read.Status.State == a2a.TaskStateCompleted
		})
	}
	waittest.Until(t, "nobody stands in line", func() bool { line := h.queue.Stats(); return line.Running+line.Waiting == 0 })
}

// A message that was sent before, one to an ended task and a subscription read stored tasks: they
// wait for a slot like other short requests. A new question does not.
func TestReadsOfMessagesAreShort(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents)
	s := h.service("echo")
	request := toShop("How many?")
	task := sendTask(t, s, alice, request)
	var held []*fair.Slot
	for range fair.ShortRequests().SlotsPerUser {
		slot, err := h.cfg.Short.Acquire(alice.Username)
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, slot)
	}
	sendTask(t, s, alice, toShop("How many more?"))
	var done sync.WaitGroup
	for name, call := range map[string]func() (bool, error){
		"sent again": func() (bool, error) {
			again, err := s.SendMessage(as(t, alice), request)
			return err == nil && again.(*a2a.Task).ID == task.ID, err
		},
		"to an ended task": func() (bool, error) {
			_, err := s.SendMessage(as(t, alice), reply(task, "More"))
			return isUnsupported(err), err
		},
		"subscription": func() (bool, error) {
			_, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: task.ID}, -1)
			return isUnsupported(err), err
		},
	} {
		done.Go(func() {
			if ok, err := call(); !ok {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	waittest.Until(t, "all wait", func() bool { return h.cfg.Short.Stats().Waiting == 3 })
	for _, slot := range held {
		slot.Release()
	}
	done.Wait()
}

// Of one user's short requests a few are handled at a time, whatever their binding. Those of
// another user do not wait for them.
func TestShortRequests(t *testing.T) {
	t.Parallel()
	hold := make(gate)
	var running atomic.Int32
	most := int32(fair.ShortRequests().SlotsPerUser)
	h := newHost(t, sqlstoretest.SQLite(t), fourEvents, withCards, func(cfg *Config) {
		cfg.Agents[0].ExtendedCard = func(ctx context.Context, who domain.Caller, _ string) (*a2a.AgentCard, error) {
			if who == alice {
				if running.Add(1) > most {
					t.Error("too many at once")
				}
				defer running.Add(-1)
				hold.wait(ctx)
			}
			return &a2a.AgentCard{Name: "echo"}, nil
		}
	})
	server, client := serveHost(t, h), serveGRPC(t, h)
	calls := []func(who domain.Caller) error{
		func(who domain.Caller) error {
			_, err := client.GetExtendedAgentCard(grpcAs(t, who), &a2apb.GetExtendedAgentCardRequest{})
			return err
		},
	}
	for _, body := range []string{rpc("1", "GetExtendedAgentCard", "{}"), rpc("1", "agent/getAuthenticatedExtendedCard", "{}")} {
		calls = append(calls, func(who domain.Caller) error {
			text, err := io.ReadAll(postAs(t, server, who, body).Body)
			if err == nil && !strings.Contains(string(text), `"result"`) {
				err = errors.New(string(text))
			}
			return err
		})
	}
	var done sync.WaitGroup
	for range most {
		for _, call := range calls {
			done.Go(func() {
				if err := call(alice); err != nil {
					t.Error(err)
				}
			})
		}
	}
	waittest.Until(t, "others wait", func() bool { return t.Failed() || h.cfg.Short.Stats().Waiting == 2*int(most) })
	for _, call := range calls {
		if err := call(bob); err != nil {
			t.Errorf("another user: %v", err)
		}
	}
	hold.open()
	done.Wait()
}
