package a2aserver

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"parley/a2aserver/a2ajson"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// legacyMessage is the params of 0.3 for a question about alice's namespace.
func legacyMessage() string {
	return `{"message":{"kind":"message","messageId":"` + uuid.NewString() + `","role":"user","parts":[{"kind":"text","text":"how <many>?"}],"metadata":{"namespace":"alice/shop"}}}`
}

// TestLegacyTranscript is a conversation with a client of 0.3: all of its methods.
func TestLegacyTranscript(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		server := serveHost(t, newHost(t, store, fourEvents, func(cfg *Config) {
			cfg.Agents[0].ExtendedCard = func(context.Context, domain.Caller, string) (*a2a.AgentCard, error) {
				return &a2a.AgentCard{Name: "echo"}, nil
			}
			cfg.Sign = func(context.Context, *a2a.AgentCard) (*a2a.AgentCard, error) {
				return nil, errors.New("a signature of 1.0 is of no use in 0.3")
			}
			cfg.LegacyCardJSON = func(_ context.Context, card *a2a.AgentCard) ([]byte, error) {
				return []byte(`{"name":"` + card.Name + `"}`), nil
			}
		}))
		var text strings.Builder
		call := func(method, params string, header ...string) string {
			response := postAs(t, server, alice, rpc("1", method, params), header...)
			answer := textOf(t, response)
			text.WriteString("> " + method + " " + strings.Join(header, " ") + "\n< " + response.Header.Get("Content-Type") + "\n" + answer + "\n")
			return answer
		}
		var sent struct{ Result legacy.Task }
		if err := json.Unmarshal([]byte(call("message/send", legacyMessage())), &sent); err != nil || sent.Result.Status.State != legacy.TaskStateCompleted {
			t.Fatalf("sent: %+v, %v", sent, err)
		}
		id := `{"id":"` + string(sent.Result.ID) + `"}`
		call("message/stream", strings.Replace(legacyMessage(), `"m"`, `"n"`, 1))
		call("tasks/get", id)
		call("tasks/list", `{"includeArtifacts":true,"pageSize":1,"historyLength":0}`)
		call("tasks/resubscribe", id, "Last-Event-ID", "3")
		call("tasks/resubscribe", id)
		call("tasks/cancel", id)
		call("agent/getAuthenticatedExtendedCard", "{}")
		call("message/send", "{}")
		call("message/send", `{"configuration":{"pushNotificationConfig":{"url":"x"}}}`)
		call("message/send", `{"message":{"messageId":"m","role":"user","parts":[{"kind":"data","data":null}]}}`)
		call("message/send", `{"message":{"messageId":"m","role":"user","parts":[{"text":"of 1.0"}]}}`)
		call("message/send", `{"message":{"messageId":7}}`)
		call("message/send", `[]`)
		call("message/stream", "{}")
		call("message/stream", "{}", "A2A-Version", "0.2.6")
		call("tasks/get", id, "A2A-Version", "0.3.0")
		golden.Assert(t, "legacy.txt", golden.Scrub([]byte(text.String())))
	})
}

// TestLegacyMethods has every name of 0.3 known, whatever comes of it.
func TestLegacyMethods(t *testing.T) {
	t.Parallel()
	for _, method := range []string{
		"message/send", "message/stream", "tasks/get", "tasks/cancel", "tasks/resubscribe", "agent/getAuthenticatedExtendedCard",
		"tasks/pushNotificationConfig/set", "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list", "tasks/pushNotificationConfig/delete",
	} {
		for _, version := range []string{"", "0.3", "0.3.0", "1.0", "1.0.1"} {
			w := ask(echo(), rpc("1", method, "[]"), "A2A-Version", version)
			if text := w.Body.String(); strings.Contains(text, "-32601") || strings.Contains(text, "-32009") || strings.Contains(text, "-32603") {
				t.Errorf("%s in %q: %s", method, version, text)
			}
		}
	}
}

// TestLegacyData has data of every kind in 0.3, whose data are objects.
func TestLegacyData(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"z":1,"a":{"y":2,"b":3}}`: `{"kind":"data","data":{"a":{"y":2,"b":3},"z":1}}`,
		`[1,2]`:                     `{"kind":"data","data":{"value":[1,2]},"metadata":{"data_part_compat":true}}`,
		`7`:                         `{"kind":"data","data":{"value":7},"metadata":{"data_part_compat":true}}`,
	} {
		stored, err := a2ajson.Encode(1, artifact(&a2asrv.ExecutorContext{TaskID: "t", ContextID: "c"}, "rows", a2a.NewDataPart(json.RawMessage(data))))
		if err != nil {
			t.Fatal(err)
		}
		got, err := legacyEnvelope(json.RawMessage("1")).convert(stored)
		if err != nil || !strings.Contains(string(got), `"parts":[`+want+`]`) {
			t.Errorf("%s: %s, %v", data, got, err)
		}
	}
}

// Overload is said in HTTP's words, where a stream was asked for too.
func TestLegacyOverload(t *testing.T) {
	t.Parallel()
	agent := echo()
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) { return nil, domain.ErrTooMany }
	w := ask(agent, rpc("1", "message/stream", legacyMessage()))
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"data":{"@type"`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

// What is asked without waiting is answered at once, and what pauses ends a stream.
func TestLegacyStates(t *testing.T) {
	t.Parallel()
	agent := echo()
	var immediately []bool
	agent.send = func(_ context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
		immediately = append(immediately, request.Config != nil && request.Config.ReturnImmediately)
		return &a2a.Task{ID: "t1"}, nil
	}
	for _, configuration := range []string{"", `,"configuration":{"blocking":true}`, `,"configuration":{"blocking":false}`} {
		ask(agent, rpc("1", "message/send", strings.TrimSuffix(legacyMessage(), "}")+configuration+"}"))
	}
	if len(immediately) != 3 || immediately[0] || immediately[1] || !immediately[2] {
		t.Errorf("immediately: %v", immediately)
	}
	for _, state := range []a2a.TaskState{
		a2a.TaskStateSubmitted, a2a.TaskStateWorking, a2a.TaskStateCompleted, a2a.TaskStateFailed, a2a.TaskStateCanceled,
		a2a.TaskStateRejected, a2a.TaskStateInputRequired, a2a.TaskStateAuthRequired,
	} {
		text, err := encodeLegacy(&a2a.TaskStatusUpdateEvent{TaskID: "t", ContextID: "c", Status: a2a.TaskStatus{State: state}})
		var update legacy.TaskStatusUpdateEvent
		if err == nil {
			err = json.Unmarshal(text, &update)
		}
		ends := state != a2a.TaskStateSubmitted && state != a2a.TaskStateWorking
		if err != nil || update.Final != ends || update.Status.State == "" {
			t.Errorf("%s: %s, %v", state, text, err)
		}
	}
}

// TestLegacyAskBack reads the options of a question asked back: they are data as 0.3 has it,
// in what is sent, streamed, read and listed.
func TestLegacyAskBack(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	if err := store.CreateDataset(t.Context(), alice, "other", "things", domain.Definition{}); err != nil {
		t.Fatal(err)
	}
	server := serveHost(t, newHost(t, store, fourEvents))
	nowhere := strings.Replace(legacyMessage(), `,"metadata":{"namespace":"alice/shop"}`, "", 1)
	for _, call := range []struct{ method, params string }{
		{"message/send", nowhere},
		{"message/stream", strings.Replace(nowhere, `"messageId":"`, `"messageId":"n`, 1)},
		{"tasks/list", `{}`},
	} {
		got := textOf(t, postAs(t, server, alice, rpc("1", call.method, call.params)))
		if !strings.Contains(got, `"data":{"name":"namespace","options":[`) || strings.Contains(got, "data_part_compat") {
			t.Errorf("%s: %s", call.method, got)
		}
	}
	// What cannot be set in the message can be set in the request.
	never := strings.TrimSuffix(nowhere, "}") + `,"metadata":{"neverAsk":true}}`
	got := textOf(t, postAs(t, server, alice, rpc("1", "message/send", strings.Replace(never, `"messageId":"`, `"messageId":"o`, 1))))
	if !strings.Contains(got, "metadata.neverAsk is set") {
		t.Errorf("neverAsk: %s", got)
	}
}
