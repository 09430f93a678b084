package a2aserver

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/jsonrpc"
	"parley/a2aserver/params"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// calls has every method of the service, called with what a transport might read from
// hostile bytes.
func calls(agent *agentService) map[string][]func(ctx context.Context) error {
	minus, long := new(-1), strings.Repeat("x", 1<<16)
	messages := []*a2a.SendMessageRequest{
		{},
		{Message: &a2a.Message{}},
		{Message: &a2a.Message{ID: "m", Role: "ROLE_KING", Parts: a2a.ContentParts{a2a.NewTextPart("?")}}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{nil}}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{{}}}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{{Content: a2a.Data{}}}}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("?")}, TaskID: a2a.TaskID(long)}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(long)}, Metadata: map[string]any{"namespace": "shop"}}},
		{Message: &a2a.Message{ID: "m", Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart("?")}, Metadata: map[string]any{"namespace": 7}}},
		{Message: toShop("?").Message, Config: &a2a.SendMessageConfig{HistoryLength: minus}},
		{Message: toShop("?").Message, Metadata: map[string]any{"a": []any{math.NaN()}}},
		{Message: toShop("?").Message, Metadata: map[string]any{"a": math.Inf(-1)}},
		{Message: toShop("?").Message, Metadata: nested(params.MaxDepth).(map[string]any)},
		{Message: toShop("?").Message, Config: &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{}}},
	}
	ids := []a2a.TaskID{"", "x", a2a.TaskID(long), "\x00", "00000000-0000-0000-0000-000000000000"}

	all := map[string][]func(ctx context.Context) error{}
	add := func(method string, call func(ctx context.Context) error) { all[method] = append(all[method], call) }
	stream := func(open func(ctx context.Context) (subscription, error)) func(context.Context) error {
		return func(ctx context.Context) error {
			events, err := open(ctx)
			if err == nil {
				events.close()
			}
			return err
		}
	}
	for _, m := range messages {
		add("SendMessage", func(ctx context.Context) error { _, err := agent.SendMessage(ctx, m); return err })
		add("stream", stream(func(ctx context.Context) (subscription, error) { return agent.stream(ctx, m) }))
		add("SendStreamingMessage", func(ctx context.Context) (failed error) {
			for _, err := range agent.SendStreamingMessage(ctx, m) {
				failed = err
			}
			return failed
		})
	}
	for _, id := range ids {
		for _, history := range []*int{nil, minus} {
			add("GetTask", func(ctx context.Context) error {
				_, err := agent.GetTask(ctx, &a2a.GetTaskRequest{ID: id, HistoryLength: history})
				return err
			})
		}
		add("CancelTask", func(ctx context.Context) error {
			_, err := agent.CancelTask(ctx, &a2a.CancelTaskRequest{ID: id})
			return err
		})
		for _, after := range []int64{-1 << 63, -2, -1, 0, 1<<63 - 1} {
			add("subscribe", stream(func(ctx context.Context) (subscription, error) {
				return agent.subscribe(ctx, &a2a.SubscribeToTaskRequest{ID: id}, after)
			}))
		}
		add("SubscribeToTask", func(ctx context.Context) (failed error) {
			for _, err := range agent.SubscribeToTask(ctx, &a2a.SubscribeToTaskRequest{ID: id}) {
				failed = err
			}
			return failed
		})
	}
	for _, list := range []*a2a.ListTasksRequest{
		{PageSize: -1}, {PageSize: 1 << 30}, {PageToken: long}, {Status: "TASK_STATE_GONE"}, {HistoryLength: minus},
		{StatusTimestampAfter: new(time.Unix(1<<40, 0))}, // only gRPC can send it
	} {
		add("ListTasks", func(ctx context.Context) error { _, err := agent.ListTasks(ctx, list); return err })
	}
	return all
}

// nested returns a value in so many objects.
func nested(depth int) (value any) {
	for range depth {
		value = map[string]any{"in": value}
	}
	return value
}

// TestServiceChecksItself calls the service as a transport would that checks nothing:
// every request is refused as the client's fault, and no run starts.
func TestServiceChecksItself(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		agent := newHost(t, store, fourEvents).service("echo")
		for method, each := range calls(agent) {
			for i, call := range each {
				if failure := jsonrpc.ToError(call(as(t, alice))); failure.Code == jsonrpc.CodeInternal {
					t.Errorf("%s, request %d: %+v", method, i, failure)
				}
				if err := call(t.Context()); err == nil {
					t.Errorf("%s, request %d: served without a caller", method, i)
				}
			}
		}
		everything := &a2a.ListTasksRequest{StatusTimestampAfter: new(time.Time{})}
		for _, request := range []*a2a.ListTasksRequest{{}, everything} {
			listed, err := agent.ListTasks(as(t, alice), request)
			if err != nil || len(listed.Tasks) != 0 {
				t.Errorf("listed %+v, %v", listed, err)
			}
		}
		if tasks, total, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Agent: "echo", Limit: 1}); err != nil || total != 0 {
			t.Errorf("runs have started: %v, %v", tasks, err)
		}
	})
}
