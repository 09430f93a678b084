package push_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/a2aserver/push"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// The task comes first, then each event as it is, in order, and after the last one the config
// is done.
func TestOrder(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, to := newWorld(t, store), newReceiver(t, accept)
		run := w.run()
		w.emit(run, 0, 2, false)
		w.config(run, "a", to.URL, push.Secrets{})
		sender, _ := w.sender("host")
		to.waitFor(t, "2")
		w.emit(run, 2, 3, false)
		sender.Notify(run)
		to.waitFor(t, "2 3")
		w.emit(run, 3, 40, true)
		sender.Notify(run)
		want := "2"
		for number := 3; number <= 40; number++ {
			want += fmt.Sprint(" ", number)
		}
		to.waitFor(t, want)
		w.waitClosed()
		requests := to.requests()
		if got, want := requests[1].body, fmt.Sprintf(`{"statusUpdate":{"taskId":%q,"number":3}}`, run); requests[0].body != `{"task":{}}` || got != want {
			t.Errorf("sent %s, then %s", requests[0].body, got)
		}
		if w.count(push.Delivered) != 39 || w.count(push.Failed) != 0 {
			t.Errorf("outcomes are %v", w.outcomes)
		}
	})
}

// An event that is not taken is sent again, and none after it before.
func TestRetry(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlstoretest.SQLite(t))
	answers := []int{200, 500, 302, 200}
	to := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, number int) {
		if number <= len(answers) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(answers[number-1])
		}
	})
	run := w.run()
	w.emit(run, 0, 3, true)
	w.config(run, "a", to.URL, push.Secrets{})
	w.fromTheStart()
	w.sender("host")
	to.waitFor(t, "1 2 2 2 3")
	w.waitClosed()
	if w.count(push.Delivered) != 3 || w.count(push.Failed) != 2 || w.count(push.GivenUp) != 0 {
		t.Errorf("outcomes are %v", w.outcomes)
	}
	if got := strings.Count(w.log.String(), "push notification failed"); got != 1 {
		t.Errorf("%d lines of one failure:\n%s", got, w.log)
	}
}

// A receiver that fails for too long, or is gone, is given up, which is said once.
func TestGiveUp(t *testing.T) {
	t.Parallel()
	for status, after := range map[int]time.Duration{http.StatusInternalServerError: time.Nanosecond, http.StatusGone: time.Hour} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, sqlstoretest.SQLite(t))
			to := newReceiver(t, func(w http.ResponseWriter, _ *http.Request, _ int) { w.WriteHeader(status) })
			run := w.run()
			w.emit(run, 0, 1, true)
			w.config(run, "a", to.URL+"/path-with-secret", push.Secrets{Token: "the-token"})
			w.sender("host", func(cfg *push.Config) { cfg.GiveUpAfter = after })
			w.waitClosed()
			log := w.log.String()
			if w.count(push.GivenUp) != 1 || strings.Count(log, "given up") != 1 || !strings.Contains(log, run) {
				t.Errorf("outcomes are %v\n%s", w.outcomes, log)
			}
			if strings.Contains(log, "the-token") {
				t.Errorf("the log has secrets:\n%s", log)
			}
		})
	}
}

// What cannot be reached says nothing of its address in the log, which may hold a secret.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlstoretest.SQLite(t))
	to := newReceiver(t, accept)
	to.Close()
	run := w.run()
	config := domain.PushConfig{RunID: run, ID: "a", URL: to.URL + "/hook?key=secret", Receiver: "127.0.0.1"}
	w.must(w.SavePushConfig(t.Context(), alice, config))
	// A refused address fails in the same way.
	other := w.run()
	config.RunID = other
	w.must(w.SavePushConfig(t.Context(), alice, config))
	w.sender("host", func(cfg *push.Config) { cfg.GiveUpAfter = time.Nanosecond })
	w.waitClosed()
	if log := w.log.String(); strings.Contains(log, "secret") || !strings.Contains(log, "refused") {
		t.Errorf("logged:\n%s", log)
	}
}

// A receiver that takes its time keeps no other waiting: neither those of others, nor more
// than a part of its owner's.
func TestSlowReceiver(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlstoretest.SQLite(t))
	slow := newReceiver(t, func(_ http.ResponseWriter, r *http.Request, _ int) { <-r.Context().Done() })
	quick := newReceiver(t, accept)
	bob := domain.Caller{Username: "bob"}
	w.must(w.CreateDataset(t.Context(), bob, "shop", "orders", domain.Definition{}))
	for range 40 {
		w.config(w.run(), "a", slow.URL, push.Secrets{})
	}
	sender, _ := w.sender("host")
	waittest.Until(t, "some are being sent", func() bool { return len(slow.requests()) >= 8 })
	asked, err := sqlstoretest.Ask(t.Context(), w, bob, domain.Question{
		Agent: "nl2ql", Namespace: domain.NamespaceRef{Owner: "bob", Name: "shop"}, ConversationID: uuid.NewString(), Text: "?",
	})
	w.must(err)
	w.must(w.SavePushConfig(t.Context(), bob, domain.PushConfig{RunID: asked.RunID, ID: "a", URL: quick.URL, Receiver: quick.URL}))
	sender.Added(asked.RunID)
	quick.waitFor(t, "0")
	if got := len(slow.requests()); got > 8 {
		t.Errorf("%d at once to a slow receiver of one owner", got)
	}
}

// A config that is deleted or replaced while it is sent has nothing sent of what follows.
func TestChangedWhileSending(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		arrived, resume := make(chan struct{}), make(chan struct{})
		first := newReceiver(t, func(_ http.ResponseWriter, _ *http.Request, number int) {
			if number == 1 {
				close(arrived)
				<-resume
			}
		})
		second := newReceiver(t, accept)
		run := w.run()
		w.emit(run, 0, 5, true)
		w.config(run, "a", first.URL, push.Secrets{})
		w.fromTheStart()
		w.sender("host")
		<-arrived
		w.config(run, "a", second.URL, push.Secrets{})
		close(resume)
		second.waitFor(t, "1 2 3 4 5") // whether the first took 1 was not known yet
		w.waitClosed()
		if got := first.numbers(); got != "1" {
			t.Errorf("the one before got %s", got)
		}
	})
}

// A host that dies while it sends is followed by another, from the last event that it had
// noted; one that stops leaves what it knows.
func TestTakeover(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, to := newWorld(t, store), newReceiver(t, accept)
		run := w.run()
		w.config(run, "a", to.URL, push.Secrets{})
		_, stop := w.sender("one")
		to.waitFor(t, "0")
		stop()
		w.emit(run, 0, 3, false)
		// It dies with what it claimed: event 1 was sent and noted.
		w.must(w.AdvancePush(t.Context(), "dead", w.claim("dead"), 1))
		w.sender("two")
		to.waitFor(t, "0 2 3")
		w.emit(run, 3, 4, true)
		to.waitFor(t, "0 2 3 4")
		w.waitClosed()
	})
}

// A host that holds a config by the log alone, because the response to its claim was lost, sends
// it all the same.
func TestLostClaim(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, to := newWorld(t, store), newReceiver(t, accept)
		run := w.run()
		w.config(run, "a", to.URL, push.Secrets{})
		w.claim("host")
		w.sender("host")
		to.waitFor(t, "0")
	})
}

// Several hosts on one database send each event once, in order.
func TestSeveralHosts(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.Postgres(t)
	w := newWorld(t, store)
	var senders []*push.Sender
	for i := range 3 {
		sender, _ := w.sender(fmt.Sprint("host-", i))
		senders = append(senders, sender)
	}
	receivers := map[string]*receiver{}
	for range 5 {
		to := newReceiver(t, accept)
		run := w.run()
		w.config(run, "a", to.URL, push.Secrets{})
		receivers[run] = to
	}
	for _, sender := range senders {
		sender.Added("")
	}
	for number := range int64(10) {
		for run := range receivers {
			w.emit(run, number, number+1, number == 9)
		}
		for _, sender := range senders {
			sender.Notify("")
		}
	}
	w.waitClosed()
	for run, to := range receivers {
		var last string
		for _, each := range to.requests() {
			number := each.header.Get("Parley-Event-Id")
			if len(number) < len(last) || len(number) == len(last) && number <= last {
				t.Errorf("run %s: %s", run, to.numbers())
				break
			}
			last = number
		}
		if last != "10" {
			t.Errorf("run %s ended with %s", run, last)
		}
	}
}

// The task stands in for events that are no longer kept, also where some of them are: those of
// artifacts.
func TestRemovedEvents(t *testing.T) {
	t.Parallel()
	w, to := newWorld(t, sqlstoretest.SQLite(t)), newReceiver(t, accept)
	run := w.run()
	w.artifacts = []int64{1, 2, 4}
	w.config(run, "a", to.URL, push.Secrets{})
	w.fromTheStart()
	w.emit(run, 0, 5, true)
	if count, err := w.TrimEvents(t.Context(), -time.Hour); err != nil || count != 1 {
		t.Fatalf("%d, %v", count, err)
	}
	w.sender("host")
	to.waitFor(t, "1 2 5")
	if got := to.requests()[2].body; got != `{"task":{}}` {
		t.Errorf("sent %s", got)
	}
	w.waitClosed()
}

// searches counts the searches of all configs, whose cost grows with their number.
type searches struct {
	*world
	all atomic.Int64
}

func (s *searches) DuePushes(ctx context.Context, holder string, runIDs []string, limit int) ([]domain.DuePush, error) {
	if len(runIDs) == 0 {
		s.all.Add(1)
	}
	return s.world.DuePushes(ctx, holder, runIDs, limit)
}

// A failed delivery for whose receiver others wait does not search all configs.
func TestFailedDeliveriesDoNotSearchAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, sqlstoretest.SQLite(t))
	to := newReceiver(t, func(rw http.ResponseWriter, _ *http.Request, _ int) {
		rw.Header().Set("Retry-After", "300")
		rw.WriteHeader(http.StatusServiceUnavailable)
	})
	const configs = 90 // fewer than one search finds
	for range configs / 10 {
		run := w.run()
		for id := range 10 {
			w.config(run, fmt.Sprint(id), to.URL, push.Secrets{})
		}
	}
	log := &searches{world: w}
	began := time.Now()
	w.sender("host", func(cfg *push.Config) { cfg.Log = log })
	waittest.Until(t, "all failed", func() bool { return w.count(push.Failed) == configs })
	polls := int64(time.Since(began)/(2*time.Second)) + 1
	if all := log.all.Load(); all > polls+1 {
		t.Errorf("%d searches of all configs for %d failures and %d polls", all, configs, polls)
	}
}
