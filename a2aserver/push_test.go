package a2aserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/google/uuid"

	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/safehttp"
	"parley/internal/seal"
	"parley/storage/sqlstore"
)

func (*fakeAgent) CreateTaskPushConfig(_ context.Context, config *a2a.PushConfig) (*a2a.PushConfig, error) {
	return config, nil
}

func (*fakeAgent) GetTaskPushConfig(_ context.Context, request *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return &a2a.PushConfig{TaskID: request.TaskID, ID: request.ID, Tenant: request.Tenant}, nil
}

func (*fakeAgent) ListTaskPushConfigs(_ context.Context, request *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return &a2a.ListTaskPushConfigResponse{Configs: []*a2a.PushConfig{}, NextPageToken: fmt.Sprintf("%+v", *request)}, nil
}

func (*fakeAgent) DeleteTaskPushConfig(_ context.Context, request *a2a.DeleteTaskPushConfigRequest) error {
	if request.ID == "" {
		return errNoPushConfig
	}
	return nil
}

// withPush has a host send push notifications, also to loopback.
func withPush(t testing.TB) func(*Config) {
	t.Helper()
	box, err := seal.New("push", []byte("a key"))
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *Config) {
		cfg.Push = &Push{Policy: safehttp.Policy{Insecure: true}, Secrets: box, GiveUpAfter: time.Hour}
	}
}

// webhook is a receiver of push notifications.
type webhook struct {
	*httptest.Server
	mu     sync.Mutex
	events []sseEvent
	header http.Header
}

// newWebhook receives every event.
func newWebhook(t *testing.T) *webhook {
	t.Helper()
	hook := &webhook{}
	hook.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		hook.mu.Lock()
		defer hook.mu.Unlock()
		hook.events, hook.header = append(hook.events, sseEvent{r.Header.Get("Parley-Event-Id"), string(body)}), r.Header
	}))
	t.Cleanup(hook.Close)
	return hook
}

func (h *webhook) received() []sseEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.events)
}

func (h *webhook) waitFor(t *testing.T, numbers string) []sseEvent {
	t.Helper()
	waittest.Until(t, "events "+numbers, func() bool { return ids(h.received()) == numbers })
	return h.received()
}

func pushedToShop(url string) *a2a.SendMessageRequest {
	request := toShop("?")
	request.Config = &a2a.SendMessageConfig{PushConfig: &a2a.PushConfig{
		URL: url, Token: "the-token", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "the-credentials"},
	}}
	return request
}

// A config that comes with the question has every event sent, the same as in the stream.
func TestInlinePush(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		h := newHost(t, store, fourEvents, withPush(t))
		s := h.service("echo")
		for _, streams := range []bool{false, true} {
			hook := newWebhook(t)
			var runID string
			if streams {
				subscription, err := s.stream(as(t, alice), pushedToShop(hook.URL))
				if err != nil {
					t.Fatal(err)
				}
				runID = subscription.(*runSubscription).broadcaster.runID
				subscription.close()
			} else {
				sent := sendTask(t, s, alice, pushedToShop(hook.URL))
				runID = string(sent.ID)
			}
			got := hook.waitFor(t, "1 2 3 4")
			want, err := store.Events(t.Context(), alice, runID, 0)
			if err != nil || len(want) != 4 {
				t.Fatalf("%d events, %v", len(want), err)
			}
			for i := range want {
				if got[i].data != string(want[i].Body) {
					t.Errorf("event %d is %s, want %s", i+1, got[i].data, want[i].Body)
				}
			}
			for name, value := range map[string]string{
				"Authorization": "Bearer the-credentials", "A2A-Notification-Token": "the-token", "X-A2A-Notification-Token": "the-token",
				"Content-Type": "application/a2a+json",
			} {
				if got := hook.header.Get(name); got != value {
					t.Errorf("%s: %q", name, got)
				}
			}
			configs, err := s.ListTaskPushConfigs(as(t, alice), &a2a.ListTaskPushConfigRequest{TaskID: a2a.TaskID(runID)})
			if err != nil || len(configs.Configs) != 1 || configs.Configs[0].URL != hook.URL {
				t.Errorf("configs are %+v, %v", configs, err)
			}
		}
	})
}

// The four methods, by JSON-RPC: secrets go in and never come out.
func TestPushMethods(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		finish := make(gate)
		h := newHost(t, store, twoEvents(finish), withPush(t))
		server, hook := serveHost(t, h), newWebhook(t)
		asked, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		var transcript strings.Builder
		call := func(method, params string) {
			t.Helper()
			params = strings.ReplaceAll(params, "TASK", asked.RunID)
			body := rpc("1", method, strings.ReplaceAll(params, "HOOK", hook.URL))
			answer, err := io.ReadAll(postAs(t, server, alice, body).Body)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(answer), "secret") {
				t.Errorf("%s tells secrets: %s", method, answer)
			}
			text := strings.NewReplacer(asked.RunID, "TASK", hook.URL, "HOOK").Replace(string(answer))
			fmt.Fprintf(&transcript, "> %s %s\n< %s\n", method, strings.ReplaceAll(params, asked.RunID, "TASK"), golden.Scrub([]byte(text)))
		}
		call("CreateTaskPushNotificationConfig", `{"taskId":"TASK","id":"b","url":"HOOK/b","token":"secret-token"}`)
		call("CreateTaskPushNotificationConfig", `{"taskId":"TASK","id":"a","url":"HOOK/a","authentication":{"scheme":"Bearer","credentials":"secret"}}`)
		call("GetTaskPushNotificationConfig", `{"taskId":"TASK","id":"a"}`)
		call("ListTaskPushNotificationConfigs", `{"taskId":"TASK"}`)
		call("ListTaskPushNotificationConfigs", `{"taskId":"TASK","pageSize":1}`)
		call("ListTaskPushNotificationConfigs", `{"taskId":"TASK","pageSize":1,"pageToken":"a"}`)
		call("DeleteTaskPushNotificationConfig", `{"taskId":"TASK","id":"a"}`)
		call("DeleteTaskPushNotificationConfig", `{"taskId":"TASK","id":"a"}`)
		call("GetTaskPushNotificationConfig", `{"taskId":"TASK","id":"a"}`)
		call("ListTaskPushNotificationConfigs", `{"task_id":"TASK","page_size":0}`)
		call("CreateTaskPushNotificationConfig", `{"taskId":"TASK","url":"HOOK"}`)
		call("CreateTaskPushNotificationConfig", `{"taskId":"TASK"}`)
		call("CreateTaskPushNotificationConfig", `{"url":"HOOK"}`)
		call("CreateTaskPushNotificationConfig", `{"taskId":"none","url":"HOOK"}`)
		call("CreateTaskPushNotificationConfig", `{"taskId":"TASK","url":"ftp://example.com","id":"ü","token":"a\nsecret","authentication":{"scheme":"a b","credentials":" secret"}}`)
		call("CreateTaskPushNotificationConfig", `{"taskId":"TASK","url":"HOOK","authentication":{"credentials":"secret"}}`)
		call("ListTaskPushNotificationConfigs", `{"taskId":"TASK","pageSize":-1}`)
		golden.Assert(t, "push.txt", []byte(transcript.String()))
		finish.open()
	})
}

// twoEvents is an agent that works, waits and is done.
func twoEvents(finish gate) script {
	return func(ctx context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		if yield(working(request), nil) {
			finish.wait(ctx)
			yield(completed(request), nil)
		}
	}
}

// The secrets of configs are not in the database as they are.
func TestPushSecretsAreEncrypted(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		h := newHost(t, store, fourEvents, withPush(t))
		s := h.service("echo")
		hook := newWebhook(t)
		sent := sendTask(t, s, alice, pushedToShop(hook.URL))
		configs, err := store.PushConfigs(t.Context(), alice, string(sent.ID))
		if err != nil || len(configs) != 1 || len(configs[0].Secrets) == 0 {
			t.Fatalf("configs are %+v, %v", configs, err)
		}
		text, err := json.Marshal(configs)
		if err != nil || strings.Contains(string(text)+string(configs[0].Secrets), "the-") {
			t.Errorf("stored is %s %q", text, configs[0].Secrets)
		}
		hook.waitFor(t, "1 2 3 4")
	})
}

// One that is made later begins with the task, also when that has ended.
func TestPushBeginsWithTheTask(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		finish := make(gate)
		h := newHost(t, store, twoEvents(finish), withPush(t))
		s := h.service("echo")
		early, late := newWebhook(t), newWebhook(t)
		asked, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		waittest.Until(t, "the first event", func() bool {
			task, err := store.Task(t.Context(), alice, "", asked.RunID, false)
			return err == nil && task.LastEvent == 1
		})
		create := func(hook *webhook) {
			t.Helper()
			config := &a2a.PushConfig{TaskID: a2a.TaskID(asked.RunID), URL: hook.URL}
			if made, err := s.CreateTaskPushConfig(as(t, alice), config); err != nil || made.ID == "" {
				t.Fatalf("made %+v, %v", made, err)
			}
		}
		create(early)
		early.waitFor(t, "1")
		finish.open()
		got := early.waitFor(t, "1 2")
		if !strings.Contains(got[0].data, `{"task":`) || !strings.Contains(got[0].data, "WORKING") || !strings.Contains(got[1].data, "COMPLETED") {
			t.Errorf("sent %v", got)
		}
		create(late)
		got = late.waitFor(t, "2")
		if !strings.Contains(got[0].data, `{"task":`) || !strings.Contains(got[0].data, "COMPLETED") {
			t.Errorf("sent %v", got)
		}
	})
}

// Another user's task has no configs, in the words for a task that never was, and nothing is
// sent of it.
func TestPushConfigsAreTheOwners(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		if err := store.CreateDataset(t.Context(), alice, "other", "things", domain.Definition{}); err != nil {
			t.Fatal(err)
		}
		finish := make(gate)
		h := newHost(t, store, twoEvents(finish), withPush(t))
		server, hook := serveHost(t, h), newWebhook(t)
		asked, err := h.Ask(t.Context(), alice, inShop)
		if err != nil {
			t.Fatal(err)
		}
		s := h.service("echo")
		own := &a2a.PushConfig{TaskID: a2a.TaskID(asked.RunID), ID: "mine", URL: newWebhook(t).URL}
		if _, err := s.CreateTaskPushConfig(as(t, alice), own); err != nil {
			t.Fatal(err)
		}
		never := uuid.Must(uuid.NewV7()).String()
		for _, who := range []domain.Caller{bob, readOnly(t, store, "other")} {
			for method, params := range map[string]map[string]any{
				"CreateTaskPushNotificationConfig": {"id": "theirs", "url": hook.URL},
				"GetTaskPushNotificationConfig":    {"id": "mine"},
				"ListTaskPushNotificationConfigs":  {},
				"DeleteTaskPushNotificationConfig": {"id": "mine"},
			} {
				var answers [2]string
				for i, id := range []string{asked.RunID, never} {
					params["taskId"] = id
					text, err := io.ReadAll(postAs(t, server, who, rpcText(method, params)).Body)
					if err != nil {
						t.Fatal(err)
					}
					answers[i] = string(golden.Scrub(text))
				}
				if answers[0] != answers[1] || !strings.Contains(answers[0], "-32001") {
					t.Errorf("%s by %+v: %s, for a task that never was: %s", method, who, answers[0], answers[1])
				}
			}
		}
		reader := readOnly(t, store, "shop")
		answer, err := io.ReadAll(postAs(t, server, reader, rpcText("CreateTaskPushNotificationConfig", map[string]any{
			"taskId": asked.RunID, "url": hook.URL})).Body)
		if err != nil || !strings.Contains(string(answer), "this token is read-only") {
			t.Errorf("a read-only token: %s, %v", answer, err)
		}
		configs, err := s.ListTaskPushConfigs(as(t, alice), &a2a.ListTaskPushConfigRequest{TaskID: a2a.TaskID(asked.RunID)})
		if err != nil || !reflect.DeepEqual(configs.Configs, []*a2a.PushConfig{own}) {
			t.Errorf("left are %+v, %v", configs, err)
		}
		finish.open()
		numbers(t, h, asked.RunID)
		if got := hook.received(); len(got) != 0 {
			t.Errorf("others were sent %v", got)
		}
	})
}

// Without a setting for it there are no push notifications, in whichever way they are asked
// for; and by default only public addresses are called.
func TestPushIsRefused(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	s := newHost(t, store, fourEvents).service("echo")
	sent := sendTask(t, s, alice, toShop("?"))
	_, inline := s.SendMessage(as(t, alice), pushedToShop("https://example.com"))
	_, create := s.CreateTaskPushConfig(as(t, alice), &a2a.PushConfig{TaskID: sent.ID, URL: "https://example.com"})
	for _, err := range []error{inline, create} {
		if got := jsonrpc.ToError(err).Code; got != -32003 {
			t.Errorf("%v has code %d", err, got)
		}
	}
	s = newHost(t, store, fourEvents, withPush(t), func(cfg *Config) { cfg.Push.Policy = safehttp.Policy{} }).service("echo")
	for _, url := range []string{"http://example.com", "https://localhost", "https://169.254.169.254/latest", "https://[::1]", "https://u:p@example.com"} {
		_, err := s.SendMessage(as(t, alice), pushedToShop(url))
		if failure := jsonrpc.ToError(err); failure.Code != -32602 || !strings.HasPrefix(failure.Message, "configuration.taskPushNotificationConfig.url must ") {
			t.Errorf("%s: %+v", url, failure)
		}
	}
	if tasks, _, err := store.Tasks(t.Context(), alice, domain.TaskFilter{Limit: 10}); err != nil || len(tasks) != 1 {
		t.Errorf("%d tasks, %v", len(tasks), err)
	}
}
