package push_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/a2aserver/push"
	"parley/cmd/parley/e2e/helpers/logtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/internal/safehttp"
	"parley/internal/seal"
	"parley/storage/sqlstore"
)

var alice = domain.Caller{Username: "alice"}

// received is one request.
type received struct {
	header http.Header
	body   string
}

// receiver takes events, and answers as its test says.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	all []received
}

// newReceiver makes a receiver; answer gets each request and its number, from 1 on.
func newReceiver(t testing.TB, answer func(w http.ResponseWriter, r *http.Request, number int)) *receiver {
	t.Helper()
	taker := &receiver{}
	taker.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the sender broke off
		}
		taker.mu.Lock()
		taker.all = append(taker.all, received{r.Header, string(body)})
		number := len(taker.all)
		taker.mu.Unlock()
		answer(w, r, number)
	}))
	t.Cleanup(taker.Close)
	return taker
}

func accept(http.ResponseWriter, *http.Request, int) {}

// numbers returns the numbers of the events that came, in order.
func (r *receiver) numbers() string {
	var all []string
	for _, each := range r.requests() {
		all = append(all, each.header.Get("Parley-Event-Id"))
	}
	return strings.Join(all, " ")
}

func (r *receiver) requests() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.all)
}

func (r *receiver) waitFor(t *testing.T, numbers string) {
	t.Helper()
	waittest.Until(t, fmt.Sprintf("events %q at %s", numbers, r.URL), func() bool { return r.numbers() == numbers })
}

// world is a store with runs of alice, and the senders of a test.
type world struct {
	*sqlstore.Store
	t   testing.TB
	box *seal.Box
	log *logtest.Buffer
	// artifacts are the numbers of events that are of artifacts.
	artifacts []int64
	mu        sync.Mutex
	outcomes  map[push.Outcome]int
}

func newWorld(t testing.TB, store *sqlstore.Store) *world {
	t.Helper()
	box, err := seal.New("push", []byte("a key"))
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Store: store, t: t, box: box, log: &logtest.Buffer{}, outcomes: map[push.Outcome]int{}}
	w.must(store.CreateDataset(t.Context(), alice, "shop", "orders", domain.Definition{}))
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// run begins a run of alice's.
func (w *world) run() string {
	w.t.Helper()
	asked, err := sqlstoretest.Ask(w.t.Context(), w, alice, domain.Question{
		Agent: "nl2ql", Namespace: domain.NamespaceRef{Owner: "alice", Name: "shop"}, ConversationID: uuid.NewString(), Text: "?",
	})
	w.must(err)
	return asked.RunID
}

// emit adds the events after a number to a run, up to another; the last of them ends it.
func (w *world) emit(runID string, after, last int64, ends bool) {
	w.t.Helper()
	change := domain.TaskChange{RunID: runID, Holder: sqlstoretest.Holder, After: after, State: "working", Snapshot: json.RawMessage(`{}`)}
	for number := after + 1; number <= last; number++ {
		body := fmt.Sprintf(`{"statusUpdate":{"taskId":%q,"number":%d}}`, runID, number)
		kind := domain.EventStatus
		if slices.Contains(w.artifacts, number) {
			kind = domain.EventArtifact
		}
		change.Events = append(change.Events, domain.Event{Number: number, Kind: kind, Body: json.RawMessage(body)})
	}
	if ends {
		change.Outcome = &domain.RunOutcome{Status: domain.RunCompleted}
	}
	w.must(sqlstoretest.Append(w, change))
}

// config makes a config of a run, to be sent to an address.
func (w *world) config(runID, id, url string, secrets push.Secrets) {
	w.t.Helper()
	config := domain.PushConfig{RunID: runID, ID: id, URL: url, Receiver: url, Scheme: "Bearer"}
	var err error
	config.Secrets, err = secrets.Seal(w.box, "alice", config)
	w.must(err)
	w.must(w.SavePushConfig(w.t.Context(), alice, config))
}

// claim has a host claim the one config that is due.
func (w *world) claim(holder string) domain.Push {
	w.t.Helper()
	due, err := w.DuePushes(w.t.Context(), holder, nil, 10)
	w.must(err)
	claimed, err := w.ClaimPushes(w.t.Context(), holder, due)
	w.must(err)
	if len(claimed) != 1 {
		w.t.Fatalf("claimed %+v", claimed)
	}
	return claimed[0]
}

// fromTheStart has the one config begin with the first event, as one that comes with the
// question.
func (w *world) fromTheStart() {
	w.t.Helper()
	w.must(w.ReleasePush(w.t.Context(), "before", w.claim("before"), domain.PushResult{Position: 0}))
}

// sender runs a sender until the test ends, or stop is called.
func (w *world) sender(holder string, change ...func(*push.Config)) (sender *push.Sender, stop func()) {
	w.t.Helper()
	_, err := w.AcquireLease(w.t.Context(), jobs.HostLease(holder), holder, time.Hour)
	w.must(err)
	cfg := push.Config{
		Log: w, Holder: holder, Secrets: w.box, GiveUpAfter: time.Hour, Logger: slog.New(slog.NewTextHandler(w.log, nil)),
		Policy: safehttp.Policy{Insecure: true},
		Encode: func(_ domain.PushConfig, event domain.Event) (domain.Event, error) { return event, nil },
		Task: func(ctx context.Context, caller domain.Caller, runID string) (domain.Event, func(), error) {
			task, err := w.Task(ctx, caller, "", runID, false)
			return domain.Event{Number: task.LastEvent, Body: json.RawMessage(`{"task":{}}`)}, func() {}, err
		},
		Reserve: func(context.Context, string, int) (func(), error) { return func() {}, nil },
		Observe: func(outcome push.Outcome) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.outcomes[outcome]++
		},
	}
	for _, f := range change {
		f(&cfg)
	}
	sender = push.New(cfg)
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan struct{})
	go func() {
		sender.Run(ctx)
		close(done)
	}()
	stop = func() {
		cancel()
		<-done
	}
	w.t.Cleanup(stop)
	return sender, stop
}

func (w *world) count(outcome push.Outcome) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[outcome]
}

func (w *world) waitClosed() {
	w.t.Helper()
	waittest.Until(w.t, "no config is open", func() bool {
		open, err := w.OpenPushes(w.t.Context())
		return err == nil && !open
	})
}
