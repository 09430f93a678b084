package a2aserver

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

const testExtension = "urn:test:namespace"

// namespaces makes datasets, each in a namespace "owner/name".
func namespaces(t testing.TB, store *sqlstore.Store, names ...string) {
	t.Helper()
	for _, name := range names {
		owner, space, _ := strings.Cut(name, "/")
		if err := store.CreateDataset(t.Context(), domain.Caller{Username: owner}, space, "orders", domain.Definition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// namespaceHost hosts an agent that answers with the namespace that it was asked about.
func namespaceHost(t testing.TB, store *sqlstore.Store) *agentService {
	t.Helper()
	s := newHost(t, store, fourEvents, func(cfg *Config) {
		cfg.NamespaceExtension = testExtension
	}).service("echo")
	return s
}

func question(text string) *a2a.SendMessageRequest {
	return &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(text))}
}

// sendTask sends a message that must give a task.
func sendTask(t *testing.T, s service, who domain.Caller, request *a2a.SendMessageRequest) *a2a.Task {
	t.Helper()
	sent, err := s.SendMessage(as(t, who), request)
	if err != nil {
		t.Fatal(err)
	}
	return sent.(*a2a.Task)
}

// namespaceOf returns the namespace that a run asked.
func namespaceOf(t *testing.T, store *sqlstore.Store, who domain.Caller, conversation string) string {
	t.Helper()
	ref, err := store.ConversationNamespace(t.Context(), who, conversation)
	if err != nil {
		t.Fatal(err)
	}
	return ref.String()
}

// The first way to name a namespace counts.
func TestNamingANamespace(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	namespaces(t, store, "alice/a", "alice/b", "alice/c", "alice/d")
	s := namespaceHost(t, store)
	message := map[string]any{"namespace": "a"}
	extension := map[string]any{testExtension: map[string]any{"namespace": "alice/b"}}
	both := map[string]any{"namespace": "a", testExtension: map[string]any{"namespace": "alice/b"}}
	for name, test := range map[string]struct {
		message, params map[string]any
		tenant, want    string
	}{
		"message":               {message: message, want: "alice/a"},
		"message and all":       {message: both, params: map[string]any{"namespace": "c"}, tenant: "d", want: "alice/a"},
		"extension":             {message: extension, params: map[string]any{"namespace": "c"}, tenant: "d", want: "alice/b"},
		"request":               {params: map[string]any{"namespace": "C"}, tenant: "d", want: "alice/c"},
		"tenant":                {tenant: "alice/d", want: "alice/d"},
		"own tenant":            {tenant: "d", want: "alice/d"},
		"username in request":   {params: map[string]any{"namespace": "c", "username": "self"}, want: "alice/c"},
		"unknown":               {message: map[string]any{"namespace": "nowhere"}},
		"unreadable":            {tenant: "bob/b"},
		"bad tenant":            {tenant: "a/b/c"},
		"bad extension":         {message: map[string]any{testExtension: "b"}},
		"bad in request":        {params: map[string]any{"namespace": 7.}},
		"first of two is wrong": {message: map[string]any{"namespace": "nowhere"}, tenant: "d"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := question("How many?")
			request.Message.Metadata, request.Metadata, request.Tenant = test.message, test.params, test.tenant
			if test.want == "" {
				if sent, err := s.SendMessage(as(t, alice), request); !errors.Is(err, a2a.ErrInvalidParams) && !errors.Is(err, domain.ErrInvalid) {
					t.Errorf("%v, %v, want an error in the parameters", sent, err)
				}
				return
			}
			task := sendTask(t, s, alice, request)
			if got := namespaceOf(t, store, alice, task.ContextID); got != test.want || task.Status.State != a2a.TaskStateCompleted {
				t.Errorf("asked %s (%s), want %s", got, task.Status.State, test.want)
			}
		})
	}
}

func TestNamespaceOfConversation(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		namespaces(t, store, "alice/a", "alice/b")
		s := namespaceHost(t, store)
		first := question("How many?")
		first.Message.Metadata = map[string]any{"namespace": "b"}
		next := question("And now?")
		next.Message.ContextID = sendTask(t, s, alice, first).ContextID
		task := sendTask(t, s, alice, next)
		if got := namespaceOf(t, store, alice, task.ContextID); task.Status.State != a2a.TaskStateCompleted || got != "alice/b" {
			t.Errorf("%s of %s", task.Status.State, got)
		}
		// Where it is gone no other is asked instead.
		if err := store.DeleteNamespace(t.Context(), alice, domain.NamespaceRef{Owner: "alice", Name: "b"}, true); err != nil {
			t.Fatal(err)
		}
		again := question("And now?")
		again.Message.ContextID = task.ContextID
		if sent, err := s.SendMessage(as(t, alice), again); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("its namespace is gone: %s, %v", toText(t, sent), err)
		}
		// Another user has no such conversation, and only one namespace.
		namespaces(t, store, "bob/own")
		task = sendTask(t, s, bob, next)
		if got := namespaceOf(t, store, bob, task.ContextID); got != "bob/own" {
			t.Errorf("bob asked %s", got)
		}
	})
}

func TestOnlyReadableNamespace(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	namespaces(t, store, "alice/shop")
	s := namespaceHost(t, store)
	if task := sendTask(t, s, alice, question("How many?")); task.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s", toText(t, task))
	}
	if _, err := s.SendMessage(as(t, bob), question("How many?")); !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("without data: %v", err)
	}
}

func TestAskedWhichNamespace(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		namespaces(t, store, "alice/shop", "alice/staff", "bob/shop")
		share(t, store, "bob/shop", "alice")
		s := namespaceHost(t, store)
		for answer, want := range map[string]string{
			"alice/shop": "alice/shop", " Staff\n": "alice/staff", "BOB/shop": "bob/shop", "2.": "alice/staff",
		} {
			task := sendTask(t, s, alice, question("How many?"))
			if task.Status.State != a2a.TaskStateInputRequired || len(task.History) != 1 {
				t.Fatalf("asked without a namespace: %s", toText(t, task))
			}
			if text := toText(t, task); !strings.Contains(text, `{"id":"alice/shop","label":"alice/shop"},{"id":"alice/staff"`) {
				t.Errorf("no options: %s", text)
			}
			reply := question(answer)
			reply.Message.TaskID = task.ID
			done := sendTask(t, s, alice, reply)
			if got := namespaceOf(t, store, alice, done.ContextID); done.ID != task.ID || done.Status.State != a2a.TaskStateCompleted || got != want {
				t.Errorf("%q: %s in %s", answer, toText(t, done), got)
			}
			if text := done.Artifacts[0].Parts[0].Text(); text != "How many?" {
				t.Errorf("the agent was asked %q", text)
			}
			if len(done.History) != 3 || done.History[2].Parts[0].Text() != answer {
				t.Errorf("history: %s", toText(t, done))
			}
		}
		never := question("How many?")
		never.Message.Metadata = map[string]any{"neverAsk": true}
		if _, err := s.SendMessage(as(t, alice), never); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("neverAsk: %v", err)
		}
	})
}

// An answer that names no namespace leaves the question open.
func TestWrongNamespaceAnswers(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	namespaces(t, store, "alice/shop", "bob/shop", "bob/secret")
	share(t, store, "bob/shop", "alice")
	s := namespaceHost(t, store)
	task := sendTask(t, s, alice, question("How many?"))
	for _, answer := range []string{"shop", "bob/secret", "nowhere", "3", "0"} {
		reply := question(answer)
		reply.Message.TaskID = task.ID
		if _, err := s.SendMessage(as(t, alice), reply); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%q: %v", answer, err)
		}
	}
	named := question("that one")
	named.Message.TaskID = task.ID
	named.Message.Metadata = map[string]any{"namespace": "bob/shop"}
	if done := sendTask(t, s, alice, named); done.Status.State != a2a.TaskStateCompleted {
		t.Errorf("%s", toText(t, done))
	}
}

func share(t testing.TB, store *sqlstore.Store, namespace, with string) {
	t.Helper()
	owner, name, _ := strings.Cut(namespace, "/")
	err := store.ShareNamespace(t.Context(), domain.Caller{Username: owner}, domain.NamespaceRef{Owner: owner, Name: name}, domain.Grant{Username: with, Role: domain.Viewer})
	if err != nil {
		t.Fatal(err)
	}
}

// A context id can be any text. It names a conversation of one user with one agent.
func TestContextIDs(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		namespaces(t, store, "alice/shop", "bob/shop")
		s := namespaceHost(t, store)
		const id = "chat #1 – ünïcode"
		request := question("How many?")
		request.Message.ContextID = id
		first := sendTask(t, s, alice, request)
		request.Message.ID = "another"
		second := sendTask(t, s, alice, request)
		read, err := s.GetTask(as(t, alice), &a2a.GetTaskRequest{ID: second.ID})
		if err != nil || first.ContextID != id || second.ContextID != id || read.ContextID != id || read.History[0].ContextID != id {
			t.Errorf("contexts: %q, %q, %s, %v", first.ContextID, second.ContextID, toText(t, read), err)
		}
		run, err := store.Run(t.Context(), alice, string(first.ID))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readID(run.ConversationID); err != nil {
			t.Errorf("the conversation is %q", run.ConversationID)
		}
		listed, err := s.ListTasks(as(t, alice), &a2a.ListTasksRequest{ContextID: id})
		if err != nil || len(listed.Tasks) != 2 || listed.Tasks[0].ContextID != id {
			t.Errorf("listed: %s, %v", toText(t, listed), err)
		}
		sendTask(t, s, bob, request)
		listed, err = s.ListTasks(as(t, bob), &a2a.ListTasksRequest{ContextID: id})
		if err != nil || len(listed.Tasks) != 1 {
			t.Errorf("bob's: %s, %v", toText(t, listed), err)
		}
		for _, bad := range []string{strings.Repeat("x", 257), "a\x00b"} {
			request := question("How many?")
			request.Message.ContextID = bad
			if _, err := s.SendMessage(as(t, alice), request); !errors.Is(err, a2a.ErrInvalidParams) {
				t.Errorf("context %.10q: %v", bad, err)
			}
		}
	})
}

// deletingLog deletes alice's namespace before a run in it is written.
type deletingLog struct{ *sqlstore.Store }

func (l deletingLog) ResolveRun(ctx context.Context, request *domain.Question) error {
	if err := l.Store.ResolveRun(ctx, request); err != nil {
		return err
	}
	return l.Store.DeleteNamespace(ctx, alice, request.Namespace, true)
}

// A namespace that is deleted while a message is sent is answered like one that never was.
func TestNamespaceDeletedWhileSending(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newHost(t, deletingLog{store}, fourEvents).service("echo")
		withNamespace(t, store)
		if sent, err := s.SendMessage(as(t, alice), toShop("How many?")); !errors.Is(err, errNoNamespace) {
			t.Errorf("%v, %v", sent, err)
		}
		withNamespace(t, store)
		if _, err := s.stream(as(t, alice), toShop("How many?")); !errors.Is(err, errNoNamespace) {
			t.Errorf("streamed: %v", err)
		}
	})
}

// TestBindingsIsolateNamespaces has others name alice's namespace in every way and binding:
// what they get is what they get for one that never was.
func TestBindingsIsolateNamespaces(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		namespaces(t, store, "alice/shop", "alice/other", "bob/mine")
		h := newHost(t, store, fourEvents, withCards, func(cfg *Config) {
			cfg.NamespaceExtension = testExtension
			cfg.Agents[0].NamespaceCard = func(ctx context.Context, who domain.Caller, _ string, ref domain.NamespaceRef) (*a2a.AgentCard, error) {
				request := domain.Question{Caller: who, Namespace: ref}
				return &a2a.AgentCard{Name: ref.String()}, store.ResolveRun(ctx, &request)
			}
		})
		b := newBindings(t, h)
		s := h.service("echo")
		asked := sendTask(t, s, alice, toShop("How many?"))
		ways := map[string]struct{ message, request string }{
			"message":      {message: `,"metadata":{"namespace":"alice/shop"}`},
			"username":     {message: `,"metadata":{"namespace":"shop","username":"alice"}`},
			"extension":    {message: `,"metadata":{"` + testExtension + `":{"namespace":"alice/shop"}}`},
			"request":      {request: `,"metadata":{"namespace":"alice/shop"}`},
			"tenant":       {request: `,"tenant":"alice/shop"`},
			"conversation": {message: `,"contextId":"` + asked.ContextID + `"`},
		}
		for _, who := range []domain.Caller{bob, readOnly(t, store, "other")} {
			for way, where := range ways {
				if way == "conversation" && who.Restricted() {
					continue // alice has that conversation: see TestAskInConversationNotCovered
				}
				for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
					for name, call := range allBindings {
						ask := func(replace, with string) outcome {
							params := strings.TrimSuffix(messageIn(plainText+where.message), "}") + where.request + "}"
							return call(b, who, method, strings.ReplaceAll(params, replace, with), protocolVersion)
						}
						theirs, never := ask("", ""), ask("shop", "nowhere")
						if way == "conversation" {
							never = ask(asked.ContextID, uuid.Must(uuid.NewV7()).String())
						} else if theirs.reason != "INVALID_PARAMS" && !(way == "tenant" && name == "0.3") {
							t.Errorf("%s: %s by %s of %+v: %s", name, method, way, who, theirs)
						}
						if theirs.reason != never.reason || theirs.message != never.message || scrubbed(name, theirs) != scrubbed(name, never) {
							t.Errorf("%s: %s by %s of %+v: %s, of one that never was: %s", name, method, way, who, theirs, never)
						}
					}
				}
			}
			for name, call := range allBindings {
				got := call(b, who, "GetExtendedAgentCard", `{"tenant":"alice/shop"}`, protocolVersion)
				never := call(b, who, "GetExtendedAgentCard", `{"tenant":"alice/nowhere"}`, protocolVersion)
				if got.String() != never.String() {
					t.Errorf("%s: card for %+v: %s, of one that never was: %s", name, who, got, never)
				}
			}
			for _, body := range []string{rpc("1", "SendMessage", messageIn(plainText)), rpc("1", "message/send", strings.Replace(legacyMessage(), `,"metadata":{"namespace":"alice/shop"}`, "", 1))} {
				var answers [2]string
				for i, path := range []string{"alice/shop", "alice/nowhere"} {
					w := httptest.NewRecorder()
					if err := h.Call(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", nil), who, "echo", path, []byte(body)); err != nil {
						t.Fatal(err)
					}
					answers[i] = string(golden.Scrub(w.Body.Bytes()))
				}
				if answers[0] != answers[1] || !strings.Contains(answers[0], "-32602") {
					t.Errorf("path of %+v: %s, of one that never was: %s", who, answers[0], answers[1])
				}
			}
		}
		if listed, err := store.Conversations(t.Context(), alice, domain.NamespaceRef{Owner: "alice", Name: "shop"}); err != nil || len(listed) != 1 {
			t.Errorf("%d conversations about alice's namespace, %v", len(listed), err)
		}
	})
}

// fits takes the namespace that a text names, and the last one for others that have "fit" in them.
func fits(cfg *Config) {
	cfg.NamedNamespace = func(_ context.Context, _ domain.Caller, address domain.Address, _ []domain.NamespaceRef) (domain.NamespaceRef, error) {
		return address.Namespace, nil
	}
	cfg.BestNamespace = func(_ context.Context, _ domain.Caller, question string, readable []domain.NamespaceRef) (domain.NamespaceRef, error) {
		if !strings.Contains(question, "fit") {
			return domain.NamespaceRef{}, nil
		}
		return readable[len(readable)-1], nil
	}
}

// The namespaces of a user's questions are looked for one at a time, and too many are refused.
func TestNamespacesAreLookedForInTurn(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	namespaces(t, store, "alice/shop", "alice/staff")
	gate := make(chan struct{})
	var running atomic.Int32
	h := newHost(t, store, fourEvents, fits, func(cfg *Config) {
		named := cfg.NamedNamespace
		cfg.NamedNamespace = func(ctx context.Context, who domain.Caller, address domain.Address, readable []domain.NamespaceRef) (domain.NamespaceRef, error) {
			if running.Add(1) > 1 {
				t.Error("two at once")
			}
			defer running.Add(-1)
			<-gate
			return named(ctx, who, address, readable)
		}
	})
	const waiting = 16
	var done sync.WaitGroup
	for range 1 + waiting {
		done.Go(func() {
			if _, err := h.service("echo").SendMessage(as(t, alice), question("How many are there in staff?")); err != nil {
				t.Error(err)
			}
			select {
			case <-gate:
			default:
				t.Error("one did not wait")
			}
		})
	}
	waittest.Until(t, "others wait", func() bool { return t.Failed() || h.inferring.Stats().Waiting == waiting })
	if !t.Failed() { // or else it may wait for the gate
		if _, err := h.service("echo").SendMessage(as(t, alice), question("How many are there in staff?")); !errors.Is(err, domain.ErrTooMany) {
			t.Errorf("one too many: %v", err)
		}
	}
	close(gate)
	done.Wait()
}

// A text names a namespace that the caller can read. Names of others are as those of none.
func TestNamespaceInText(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		namespaces(t, store, "alice/shop", "alice/staff", "bob/shop", "bob/club", "bob/hidden")
		share(t, store, "bob/shop", "alice")
		share(t, store, "bob/club", "alice")
		s := newHost(t, store, fourEvents, fits).service("echo")
		const asked, refused = "asked", "refused"
		for _, test := range []struct {
			text     string
			neverAsk bool
			want     string
		}{
			{"in Shop: How many?", false, "alice/shop"},
			{"How many are there in staff?", false, "alice/staff"},
			{"in bob/shop: How many?", false, "bob/shop"},
			{"How many are there in CLUB?", false, "bob/club"},
			{"in bob/hidden: How many?", false, asked},
			{"in bob/nowhere: How many?", false, asked},
			{"in hidden: How many?", false, asked},
			{"in bob/hidden: How many?", true, refused},
			{"in bob/nowhere: How many?", true, refused},
			{"in shop: How many?", true, "alice/shop"},
			{"How many fit?", true, "bob/shop"},
			{"How many fit?", false, asked},
			{"How many?", true, refused},
		} {
			request := question(test.text)
			request.Metadata = map[string]any{"neverAsk": test.neverAsk}
			sent, err := s.SendMessage(as(t, alice), request)
			if test.want == refused {
				if !errors.Is(err, a2a.ErrInvalidParams) {
					t.Errorf("%q: %v", test.text, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			task := sent.(*a2a.Task)
			inferred := task.History[0].Metadata["namespaceInferred"]
			if test.want == asked {
				if task.Status.State != a2a.TaskStateInputRequired || inferred != nil {
					t.Errorf("%q: %s", test.text, toText(t, task))
				}
				continue
			}
			if got := namespaceOf(t, store, alice, task.ContextID); got != test.want || inferred != true || task.History[0].Parts[0].Text() != test.text {
				t.Errorf("%q: %s in %s", test.text, toText(t, task), got)
			}
		}
	})
}
