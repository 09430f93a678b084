package a2aserver

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"parley/a2aserver/params"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// held is an agent that waits with a question of the same text, and answers others.
var held script = func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
	if request.Message.Parts[0].Text() == "held" {
		if yield(working(request), nil) {
			<-ctx.Done()
		}
		return
	}
	fourEvents(ctx, request, yield)
}

// messageIn is the params of a question, whose members are those given.
func messageIn(members string) string {
	return fmt.Sprintf(`{"message":{"messageId":"%s",%s}}`, uuid.NewString(), members)
}

const (
	plainText = `"role":"ROLE_USER","parts":[{"text":"how many?"}]`
	inMyShop  = plainText + `,"metadata":{"namespace":"alice/shop"}`
)

// bindingCase is a call that is to have the same outcome in all bindings.
type bindingCase struct {
	name, method string
	// params may hold {done} and {open}, tasks of alice's.
	params  string
	who     domain.Caller
	version string
	// reason is that of the error; "" where there is none.
	reason string
}

func bindingCases() []bindingCase {
	const unknown = `"00000000-0000-7000-8000-000000000000"`
	long := strings.Repeat("x", 33<<10)
	cases := []bindingCase{
		{name: "read", method: "GetTask", params: `{"id":"{done}"}`},
		{name: "read without history", method: "GetTask", params: `{"id":"{done}","historyLength":0}`},
		{name: "read with a negative history", method: "GetTask", params: `{"id":"{done}","historyLength":-1}`, reason: "INVALID_PARAMS"},
		{name: "read nothing", method: "GetTask", params: `{}`, reason: "INVALID_PARAMS"},
		{name: "read what is open", method: "GetTask", params: `{"id":"{open}"}`},
		{name: "list", method: "ListTasks", params: `{}`},
		{name: "list all", method: "ListTasks", params: `{"includeArtifacts":true,"historyLength":1}`},
		{name: "list a page", method: "ListTasks", params: `{"pageSize":1}`},
		{name: "list a state", method: "ListTasks", params: `{"status":"TASK_STATE_WORKING"}`},
		{name: "list later ones", method: "ListTasks", params: `{"statusTimestampAfter":"2999-01-01T00:00:00Z"}`},
		{name: "list by a bad token", method: "ListTasks", params: `{"pageToken":"x"}`, reason: "INVALID_PARAMS"},
		{name: "list too much", method: "ListTasks", params: `{"pageSize":101}`, reason: "INVALID_PARAMS"},
		{name: "list another's", method: "ListTasks", params: `{}`, who: bob},
		{name: "cancel what has ended", method: "CancelTask", params: `{"id":"{done}"}`, reason: "TASK_NOT_CANCELABLE"},
		{name: "subscribe to what has ended", method: "SubscribeToTask", params: `{"id":"{done}"}`, reason: "UNSUPPORTED_OPERATION"},
		{name: "the card", method: "GetExtendedAgentCard", params: `{}`},
	}
	for _, method := range []string{"GetTask", "CancelTask", "SubscribeToTask"} {
		cases = append(cases,
			bindingCase{name: "an unknown task", method: method, params: `{"id":` + unknown + `}`, reason: "TASK_NOT_FOUND"},
			bindingCase{name: "no task's id", method: method, params: `{"id":"x"}`, reason: "TASK_NOT_FOUND"},
			bindingCase{name: "another's task", method: method, params: `{"id":"{done}"}`, who: bob, reason: "TASK_NOT_FOUND"},
			bindingCase{name: "another's open task", method: method, params: `{"id":"{open}"}`, who: bob, reason: "TASK_NOT_FOUND"},
			bindingCase{name: "another version", method: method, params: `{"id":"{done}"}`, version: "7.0", reason: "VERSION_NOT_SUPPORTED"},
		)
	}
	for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
		for name, test := range map[string]struct{ params, reason string }{
			"ask":                      {messageIn(inMyShop), ""},
			"ask without history":      {strings.TrimSuffix(messageIn(inMyShop), "}") + `,"configuration":{"historyLength":0}}`, ""},
			"nothing":                  {`{}`, "INVALID_PARAMS"},
			"no parts":                 {messageIn(`"role":"ROLE_USER"`), "INVALID_PARAMS"},
			"no message id":            {`{"message":{` + plainText + `}}`, "INVALID_PARAMS"},
			"as an agent":              {messageIn(strings.Replace(inMyShop, "ROLE_USER", "ROLE_AGENT", 1)), "INVALID_PARAMS"},
			"a part of data":           {messageIn(strings.Replace(inMyShop, `{"text":"how many?"}`, `{"data":{"a":1}}`, 1)), "CONTENT_TYPE_NOT_SUPPORTED"},
			"a file":                   {messageIn(strings.Replace(inMyShop, `{"text":"how many?"}`, `{"raw":"aGk=","mediaType":"image/png"}`, 1)), "CONTENT_TYPE_NOT_SUPPORTED"},
			"for images":               {strings.TrimSuffix(messageIn(inMyShop), "}") + `,"configuration":{"acceptedOutputModes":["image/png"]}}`, "CONTENT_TYPE_NOT_SUPPORTED"},
			"a negative history":       {strings.TrimSuffix(messageIn(inMyShop), "}") + `,"configuration":{"historyLength":-1}}`, "INVALID_PARAMS"},
			"too long":                 {messageIn(strings.Replace(inMyShop, "how many?", long, 1)), "INVALID_PARAMS"},
			"an unknown namespace":     {messageIn(strings.Replace(inMyShop, "alice/shop", "alice/none", 1)), "INVALID_PARAMS"},
			"a wrong namespace":        {messageIn(strings.Replace(inMyShop, `"alice/shop"`, "7", 1)), "INVALID_PARAMS"},
			"to a task that has ended": {messageIn(inMyShop + `,"taskId":"{done}"`), "UNSUPPORTED_OPERATION"},
			"to an unknown task":       {messageIn(inMyShop + `,"taskId":` + unknown), "TASK_NOT_FOUND"},
			"about an unknown task":    {messageIn(inMyShop + `,"referenceTaskIds":[` + unknown + `]`), "TASK_NOT_FOUND"},
			"with a push config":       {strings.TrimSuffix(messageIn(inMyShop), "}") + `,"configuration":{"taskPushNotificationConfig":{"url":"https://example.com"}}}`, "PUSH_NOTIFICATION_NOT_SUPPORTED"},
			"nested too deeply":        {messageIn(plainText + `,"metadata":` + strings.Repeat(`{"a":`, params.MaxDepth) + "1" + strings.Repeat("}", params.MaxDepth)), "INVALID_PARAMS"},
		} {
			cases = append(cases, bindingCase{name: name, method: method, params: test.params, reason: test.reason})
		}
		cases = append(cases,
			bindingCase{name: "in another's namespace", method: method, params: messageIn(inMyShop), who: bob, reason: "INVALID_PARAMS"},
			bindingCase{name: "to another's task", method: method, params: messageIn(plainText + `,"taskId":"{open}"`), who: bob, reason: "TASK_NOT_FOUND"},
			bindingCase{name: "another version", method: method, params: messageIn(inMyShop), version: "7.0", reason: "VERSION_NOT_SUPPORTED"},
		)
	}
	for method, params := range map[string]string{
		"CreateTaskPushNotificationConfig": `{"taskId":"{done}","url":"https://example.com"}`, "GetTaskPushNotificationConfig": `{"taskId":"{done}","id":"x"}`,
		"ListTaskPushNotificationConfigs": `{"taskId":"{done}"}`, "DeleteTaskPushNotificationConfig": `{"taskId":"{done}","id":"x"}`,
	} {
		cases = append(cases, bindingCase{name: "no push", method: method, params: params, reason: "PUSH_NOTIFICATION_NOT_SUPPORTED"})
	}
	return cases
}

// unsaid are calls that a binding has no words for, by its name and theirs.
var unsaid = map[string][]string{
	// The id of a task is a part of the path.
	"HTTP+JSON": {"read nothing"},
	// 0.3 has no list of tasks.
	"0.3": {"list", "list all", "list a page", "list a state", "list later ones", "list by a bad token", "list too much", "list another's"},
}

// otherWords are calls that a binding refuses for the same reason in words of its own: what
// it reads differs.
var otherWords = []string{"nested too deeply", "another version"}

// TestBindingsAgree has every operation, and every error, in all bindings: the results and
// the errors are the same.
func TestBindingsAgree(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		h := newHost(t, store, held, withCards)
		b := newBindings(t, h)
		done, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, h, done.RunID); got != 4 {
			t.Fatalf("%d events", got)
		}
		waiting := inShop
		waiting.Text = "held"
		open, err := h.Ask(t.Context(), alice, waiting)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "it is being worked on", func() bool {
			task, err := store.Task(t.Context(), alice, "echo", open.RunID, false)
			return err == nil && task.LastEvent > 0
		})
		for _, test := range bindingCases() {
			params := strings.NewReplacer("{done}", done.RunID, "{open}", open.RunID).Replace(test.params)
			if test.who.Username == "" {
				test.who = alice
			}
			if test.version == "" {
				test.version = protocolVersion
			}
			outcomes := map[string]outcome{}
			for name, call := range allBindings {
				// Each has a message of its own: one that comes again has the same task.
				params := strings.Replace(params, `"messageId":"`, `"messageId":"`+strings.ReplaceAll(name, "+", "-"), 1)
				got := call(b, test.who, test.method, params, test.version)
				if said := slices.Contains(unsaid[name], test.name); got.unsaid {
					if !said {
						t.Errorf("%s has no words for %s: %s", name, test.method, test.name)
					}
					continue
				}
				if got.reason != test.reason {
					t.Errorf("%s: %s: %s: %s", name, test.method, test.name, got)
				}
				outcomes[name] = got
			}
			want := outcomes["JSON-RPC"]
			for name, got := range outcomes {
				if got.code != want.code || got.message != want.message && !slices.Contains(otherWords, test.name) || scrubbed(name, got) != scrubbed("JSON-RPC", want) {
					t.Errorf("%s: %s: %s\nJSON-RPC: %s", name, test.method, test.name+": "+got.String(), want)
				}
			}
		}
	})
}

// withCards returns the agent of a host an extended card.
func withCards(cfg *Config) {
	cfg.DefaultAgent = "echo"
	cfg.Agents[0].ExtendedCard = func(context.Context, domain.Caller, string) (*a2a.AgentCard, error) {
		return &a2a.AgentCard{Name: "echo"}, nil
	}
	cfg.CardJSON = func(card *a2a.AgentCard) ([]byte, error) { return []byte(`{"name":"` + card.Name + `"}`), nil }
	cfg.LegacyCardJSON = func(_ context.Context, card *a2a.AgentCard) ([]byte, error) { return cfg.CardJSON(card) }
}

// scrubbed returns results without ids that differ from run to run.
func scrubbed(binding string, got outcome) string {
	text := strings.ReplaceAll(strings.Join(got.results, "\n"), `"messageId":"`+strings.ReplaceAll(binding, "+", "-"), `"messageId":"`)
	return string(golden.Scrub([]byte(text)))
}

// TestBindingsFollow subscribes to a task that goes on until somebody follows it, and
// cancels another.
func TestBindingsFollow(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, held, withCards)
	b := newBindings(t, h)
	for name, call := range allBindings {
		ask := func() string {
			waiting := inShop
			waiting.Text = "held"
			open, err := h.Ask(t.Context(), alice, waiting)
			if err != nil {
				t.Fatal(err)
			}
			return open.RunID
		}
		followed, done := ask(), make(chan struct{})
		go func() {
			defer close(done)
			waittest.Until(t, "somebody follows", func() bool { return h.broadcasters.followers(followed) > 0 })
			if err := h.Stop(t.Context(), alice, followed); err != nil {
				t.Error(err)
			}
		}()
		got := call(b, alice, "SubscribeToTask", `{"id":"`+followed+`"}`, protocolVersion)
		if <-done; len(got.results) < 2 || !strings.HasPrefix(got.results[0], `{"task":`) || !strings.Contains(got.results[len(got.results)-1], "TASK_STATE_CANCELED") {
			t.Errorf("%s: followed: %s", name, got)
		}
		if got := call(b, alice, "CancelTask", `{"id":"`+ask()+`"}`, protocolVersion); !strings.Contains(got.String(), "TASK_STATE_CANCELED") {
			t.Errorf("%s: canceled: %s", name, got)
		}
	}
}

// TestBindingsIsolate has others try every method on a task that goes on: what they get is
// what they get for a task that never was, and the task is not touched.
func TestBindingsIsolate(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		for _, name := range []string{"mine", "other"} {
			for _, who := range []domain.Caller{alice, bob} {
				if err := store.CreateDataset(t.Context(), who, name, "things", domain.Definition{}); err != nil {
					t.Fatal(err)
				}
			}
		}
		h := newHost(t, store, held, withCards, withPush(t))
		b := newBindings(t, h)
		waiting := inShop
		waiting.Text = "held"
		open, err := h.Ask(t.Context(), alice, waiting)
		if err != nil {
			t.Fatal(err)
		}
		if got := allBindings["gRPC"](b, alice, "CreateTaskPushNotificationConfig", `{"taskId":"`+open.RunID+`","id":"x","url":"http://127.0.0.1:1"}`, protocolVersion); got.reason != "" {
			t.Fatal(got)
		}
		var before string
		waittest.Until(t, "it is being worked on", func() bool {
			before = allBindings["JSON-RPC"](b, alice, "GetTask", `{"id":"`+open.RunID+`"}`, protocolVersion).String()
			return strings.Contains(before, "TASK_STATE_WORKING")
		})
		for _, who := range []domain.Caller{bob, readOnly(t, store, "other")} {
			for method, params := range map[string]string{
				"GetTask": `{"id":"{task}"}`, "CancelTask": `{"id":"{task}"}`, "SubscribeToTask": `{"id":"{task}"}`,
				"SendMessage":                      messageIn(plainText + `,"taskId":"{task}","metadata":{"namespace":"mine"}`),
				"SendStreamingMessage":             messageIn(plainText + `,"referenceTaskIds":["{task}"],"metadata":{"namespace":"other"}`),
				"CreateTaskPushNotificationConfig": `{"taskId":"{task}","id":"y","url":"http://127.0.0.1:1"}`,
				"GetTaskPushNotificationConfig":    `{"taskId":"{task}","id":"x"}`,
				"ListTaskPushNotificationConfigs":  `{"taskId":"{task}"}`,
				"DeleteTaskPushNotificationConfig": `{"taskId":"{task}","id":"x"}`,
			} {
				for name, call := range allBindings {
					theirs := call(b, who, method, strings.ReplaceAll(params, "{task}", open.RunID), protocolVersion)
					never := call(b, who, method, strings.ReplaceAll(params, "{task}", uuid.Must(uuid.NewV7()).String()), protocolVersion)
					if theirs.String() != never.String() || theirs.reason != "TASK_NOT_FOUND" {
						t.Errorf("%s: %s of %+v: %s, of a task that never was: %s", name, method, who, theirs, never)
					}
				}
			}
		}
		if after := allBindings["JSON-RPC"](b, alice, "GetTask", `{"id":"`+open.RunID+`"}`, protocolVersion).String(); after != before {
			t.Errorf("the task was touched: %s, before %s", after, before)
		}
		if got := allBindings["JSON-RPC"](b, alice, "ListTaskPushNotificationConfigs", `{"taskId":"`+open.RunID+`"}`, protocolVersion).String(); strings.Count(got, `"id":`) != 1 {
			t.Errorf("its configs were touched: %s", got)
		}
	})
}

// followers counts those who follow a run.
func (f *broadcasters) followers(runID string) int {
	f.mu.Lock()
	found := f.live[runID]
	f.mu.Unlock()
	if found == nil {
		return 0
	}
	found.mu.Lock()
	defer found.mu.Unlock()
	return len(found.subscriptions)
}
