package a2aserver

import (
	"encoding/json"
	"strings"
	"testing"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/storage/sqlstore"
)

// What a client accepts holds for what is sent to it, too.
func TestPushModes(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, fourEvents, withPush(t)).service("echo")
	for mode, part := range map[string]string{"text/plain": `"parts":[{"text":`, "application/json": `"parts":[{"data":`} {
		hook := newWebhook(t)
		request := pushedToShop(hook.URL)
		request.Config.AcceptedOutputModes = []string{mode}
		sendTask(t, s, alice, request)
		for _, event := range hook.waitFor(t, "1 2 3 4") {
			if strings.Contains(event.data, "artifactUpdate") && !strings.Contains(event.data, part) {
				t.Errorf("%s: %s", mode, event.data)
			}
		}
	}
}

// A client of 0.3 is sent what 0.3 has: the task, as often as it changes.
func TestLegacyPush(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		server, hook := serveHost(t, newHost(t, store, fourEvents, withPush(t))), newWebhook(t)
		params := strings.TrimSuffix(legacyMessage(), "}") + `,"configuration":{"blocking":true,"pushNotificationConfig":{"id":"a","url":"` + hook.URL + `","token":"t"}}}`
		var sent struct{ Result legacy.Task }
		if err := json.Unmarshal([]byte(textOf(t, postAs(t, server, alice, rpc("1", "message/send", params)))), &sent); err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the last state", func() bool { return strings.HasSuffix(ids(hook.received()), "4") })
		for _, event := range hook.received() {
			var task legacy.Task
			if err := json.Unmarshal([]byte(event.data), &task); err != nil || task.ID != sent.Result.ID || !strings.Contains(event.data, `"kind":"task"`) {
				t.Errorf("sent %s, %v", event.data, err)
			}
			if event.id == "4" && (task.Status.State != legacy.TaskStateCompleted || len(task.Artifacts) != 2) {
				t.Errorf("in the end %s", event.data)
			}
		}
		hook.mu.Lock()
		if version, media := hook.header.Get("A2A-Version"), hook.header.Get("Content-Type"); version != "0.3" || media != "application/json" {
			t.Errorf("%s, %s", version, media)
		}
		hook.mu.Unlock()
		// The id of the config may be left out.
		got := textOf(t, postAs(t, server, alice, rpc("1", "tasks/pushNotificationConfig/get", `{"id":"`+string(sent.Result.ID)+`"}`)))
		if !strings.Contains(got, `"url":"`+hook.URL+`"`) || strings.Contains(got, `"token"`) {
			t.Errorf("got %s", got)
		}
	})
}

// A config that comes with an answer has what follows sent.
func TestPushWithAnswer(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		s := newHost(t, store, asking, withPush(t)).service("echo")
		first, second := newWebhook(t), newWebhook(t)
		task := sendTask(t, s, alice, pushedToShop(first.URL))
		if got := first.waitFor(t, "1 2"); !strings.Contains(got[1].data, "INPUT_REQUIRED") {
			t.Errorf("sent %v", got)
		}
		answer := reply(task, "red")
		answer.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: second.URL}}
		sendTask(t, s, alice, answer)
		first.waitFor(t, "1 2 3 4 5")
		second.waitFor(t, "3 4 5")
		bad := reply(sendTask(t, s, alice, toShop("?")), "red")
		bad.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{URL: "ftp://example.com"}}
		if _, err := s.SendMessage(as(t, alice), bad); jsonrpc.ToError(err).Code != -32602 {
			t.Errorf("a bad address: %v", err)
		}
	})
}
