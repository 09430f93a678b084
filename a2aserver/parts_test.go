package a2aserver

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// A part that no agent reads is refused by name, and nothing is stored.
func TestPartsThatAreNotText(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	server := serveHost(t, newHost(t, store, fourEvents))
	for part, want := range map[string]string{
		`{"data":null}`: "application/json",
		`{"data":{"a":1},"mediaType":"application/vnd.x+json"}`: "application/vnd.x+json",
		`{"url":""}`: "application/octet-stream",
		`{"url":"https://example.com/a.png","mediaType":"image/png"}`: "image/png",
		`{"raw":""}`: "application/octet-stream",
		`{"raw":"aGk=","filename":"a.csv","media_type":"text/csv"}`: "text/csv",
	} {
		for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
			response := postAs(t, server, alice, rpc("1", method, `{"message":{"messageId":"m","role":"ROLE_USER","metadata":{"namespace":"shop"},`+
				`"parts":[{"text":"How many?"},`+part+`]}}`))
			body, _ := io.ReadAll(response.Body)
			if !strings.Contains(string(body), `"code":-32005,"message":"message.parts[1] is `+want+`;`) ||
				!strings.Contains(string(body), `"metadata":{"mediaType":"`+want+`"}`) {
				t.Errorf("%s of %s: %s", method, part, body)
			}
		}
	}
	response := postAs(t, server, alice, rpc("1", "ListTasks", "{}"))
	if body, _ := io.ReadAll(response.Body); !strings.Contains(string(body), `"tasks":[]`) {
		t.Errorf("something was stored: %s", body)
	}
}

// What an earlier version stored, and what cannot be read at all, hides nothing else.
func TestUnreadableRows(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, fourEvents).service("echo")
		const message = `{"messageId":"m","role":"ROLE_USER","parts":[{"text":"first","metadata":{"big":9007199254740993}},{"data":null},{"url":""}]}`
		const status = `"status":{"state":"TASK_STATE_WORKING","timestamp":"2026-01-02T03:04:05Z"}`
		repaired := storedTask(t, store, `{`+status+`,"history":[`+message+`]}`, `{"task":{"id":"x","contextId":"y",`+status+`,"history":[`+message+`]}}`)
		broken := storedTask(t, store, `{"history":7}`, `{"task":7}`)
		if _, err := s.SendMessage(as(t, alice), toShop("second")); err != nil {
			t.Fatal(err)
		}

		list, err := s.ListTasks(as(t, alice), &a2a.ListTasksRequest{IncludeArtifacts: true})
		if err != nil || len(list.Tasks) != 3 {
			t.Fatalf("%d tasks, %v", len(list.Tasks), err)
		}
		task, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: repaired})
		if err != nil || len(task.History) != 1 || len(task.History[0].Parts) != 1 || task.History[0].Parts[0].Text() != "first" {
			t.Errorf("%s, %v", toText(t, task), err)
		}
		task, err = s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: broken})
		if err != nil || task.ID != broken || task.Status.State != a2a.TaskStateCompleted || task.Status.Timestamp == nil {
			t.Errorf("%s, %v", toText(t, task), err)
		}
		for id, want := range map[a2a.TaskID]string{repaired: "TASK_STATE_WORKING0 TASK_STATE_COMPLETED", broken: "unreadable TASK_STATE_COMPLETED"} {
			if states := statesOf(t, s, id); states != want {
				t.Errorf("the stream has %q, want %q", states, want)
			}
		}
	})
}

// storedTask stores a completed task, whose first event is given.
func storedTask(t *testing.T, store *sqlstore.Store, snapshot, event string) a2a.TaskID {
	t.Helper()
	question := domain.Question{Agent: "echo", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, ConversationID: domain.NewID(), Text: "?"}
	change, err := sqlstoretest.Start(t.Context(), store, alice, question)
	if err != nil {
		t.Fatal(err)
	}
	change.State, change.Snapshot = string(a2a.TaskStateCompleted), json.RawMessage(snapshot)
	last, err := a2ajson.Encode(2, a2a.NewStatusUpdateEvent(a2a.TaskInfo{}, a2a.TaskStateCompleted, nil))
	if err != nil {
		t.Fatal(err)
	}
	change.Events = []domain.Event{{Number: 1, Kind: domain.EventTask, Body: json.RawMessage(event)}, last}
	change.Outcome = &domain.RunOutcome{Status: domain.RunCompleted, Result: json.RawMessage(`{}`)}
	if err := sqlstoretest.Append(store, change); err != nil {
		t.Fatal(err)
	}
	return a2a.TaskID(change.RunID)
}

// statesOf returns the states in the stream of a task that is read without history.
func statesOf(t *testing.T, s service, id a2a.TaskID) string {
	t.Helper()
	events, err := s.subscribe(as(t, alice), &a2a.SubscribeToTaskRequest{ID: id}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer events.close()
	events.(*runSubscription).history = new(int)
	var states []string
	for {
		event, err := events.next(t.Context(), nil)
		if errors.Is(err, io.EOF) {
			return strings.Join(states, " ")
		}
		if err != nil {
			t.Fatal(err)
		}
		decoded, err := a2ajson.Decode(event)
		if err != nil {
			states = append(states, "unreadable")
			continue
		}
		switch event := decoded.(type) {
		case *a2a.Task:
			states = append(states, fmt.Sprint(event.Status.State, len(event.History)))
		case *a2a.TaskStatusUpdateEvent:
			states = append(states, string(event.Status.State))
		}
	}
}

// A task is found, or not, before anything else of the message counts.
func TestTaskIDComesFirst(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, fourEvents).service("echo")
	sent := sendTask(t, s, alice, toShop("?"))
	for id, want := range map[a2a.TaskID]error{
		sent.ID: a2a.ErrUnsupportedOperation, a2a.TaskID(domain.NewID()): a2a.ErrTaskNotFound, "none": a2a.ErrTaskNotFound,
	} {
		message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewDataPart(map[string]any{"option": "1"}))
		message.TaskID = id
		if _, err := s.SendMessage(as(t, alice), &a2a.SendMessageRequest{Message: message}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", id, err, want)
		}
	}
}

// A message may refer to tasks of its sender, of any agent, and to no others.
func TestReferences(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	h := newHost(t, store, fourEvents, func(cfg *Config) {
		cfg.Agents = append(cfg.Agents, Agent{Name: "other", Executor: fourEvents, Projection: plain})
	})
	s := h.service("echo")
	other := h.service("other")
	sent := sendTask(t, other, alice, toShop("?"))
	grant := domain.Grant{Username: "bob", Role: domain.Viewer}
	if err := store.ShareNamespace(t.Context(), alice, domain.NamespaceRef{Owner: "alice", Name: "shop"}, grant); err != nil {
		t.Fatal(err)
	}
	own := sent.ID
	for name, test := range map[string]struct {
		who  domain.Caller
		ids  []a2a.TaskID
		want error
	}{
		"own":       {alice, []a2a.TaskID{own}, nil},
		"capitals":  {alice, []a2a.TaskID{a2a.TaskID(strings.ToUpper(string(own)))}, nil},
		"unknown":   {alice, []a2a.TaskID{own, a2a.TaskID(domain.NewID())}, a2a.ErrTaskNotFound},
		"no id":     {alice, []a2a.TaskID{"x"}, a2a.ErrTaskNotFound},
		"another's": {bob, []a2a.TaskID{own}, a2a.ErrTaskNotFound},
		"too many":  {alice, slices.Repeat([]a2a.TaskID{own}, maxReferences+1), a2a.ErrInvalidParams},
	} {
		request := toShop("and now?")
		request.Message.ReferenceTasks = test.ids
		sent, err := s.SendMessage(as(t, test.who), request)
		if !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
		// Agents read the ids as they are stored.
		if task, ok := sent.(*a2a.Task); ok && !slices.Equal(task.History[0].ReferenceTasks, []a2a.TaskID{own}) {
			t.Errorf("%s: stored as %v", name, task.History[0].ReferenceTasks)
		}
	}
}

// Whatever message is taken, its task can be read by a client of the SDK.
func FuzzStoredTask(f *testing.F) {
	for _, message := range []string{
		`{"messageId":"m","role":"ROLE_USER","parts":[{"text":"?"}]}`,
		`{"messageId":"a","role":1,"parts":[{"text":""},{"text":"x","metadata":{"n":1e300}}],"metadata":{"deep":[[{"a":null}]]},"extensions":["x"]}`,
		`{"messageId":"b","role":"ROLE_USER","parts":[{"text":"?"},{"data":null},{"url":""},{"raw":""}]}`,
		`{"messageId":"c","role":"ROLE_USER","parts":[{"text":"\u0000\u2028","filename":"\u0001","mediaType":"a/b"}],"contextId":"c","referenceTaskIds":["x"]}`,
	} {
		f.Add([]byte(message), byte(0))
		f.Add([]byte(message), byte(1))
	}
	store := sqlstoretest.SQLite(f)
	withNamespace(f, store)
	h := newHost(f, store, fourEvents, func(cfg *Config) { cfg.Logger = quiet() })
	call := func(body string) []byte {
		w := httptest.NewRecorder()
		if err := h.Call(w, httptest.NewRequest(http.MethodPost, "/", nil), alice, "echo", "", []byte(body)); err != nil {
			panic(err)
		}
		return w.Body.Bytes()
	}
	f.Fuzz(func(t *testing.T, message []byte, streamed byte) {
		method := []string{"SendMessage", "SendStreamingMessage"}[streamed%2]
		call(`{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{"message":` + string(message) + `}}`)
		var listed struct {
			Result *a2a.ListTasksResponse
		}
		if err := json.Unmarshal(call(rpc("1", "ListTasks", `{"pageSize":1,"includeArtifacts":true}`)), &listed); err != nil || listed.Result == nil {
			t.Fatalf("ListTasks: %v", err)
		}
		for _, task := range listed.Result.Tasks {
			var read struct{ Result *a2a.Task }
			if err := json.Unmarshal(call(rpc("1", "GetTask", `{"id":"`+string(task.ID)+`","historyLength":5}`)), &read); err != nil || read.Result == nil {
				t.Fatalf("GetTask: %v", err)
			}
		}
	})
}
