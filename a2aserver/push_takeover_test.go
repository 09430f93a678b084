package a2aserver

import (
	"context"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/pgtest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/storage/sqlstore"
)

// Two hosts on one database: whichever executes a run, and whichever dies, every event is
// sent, in order.
func TestPushMovesToAnotherHost(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open := func() *sqlstore.Store {
		store, err := sqlstore.Open(t.Context(), sqlstore.Config{DatabaseURL: url})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		return store
	}
	store := open()
	if err := store.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	withNamespace(t, store)
	reached, resume := make(chan struct{}), make(gate)
	var once sync.Once
	agent := resumable(6, func(ctx context.Context, number int) {
		if number == 4 {
			once.Do(func() { close(reached) })
			resume.wait(ctx)
		}
	})
	first := newHost(t, store, agent, brief, withPush(t))
	hook := newWebhook(t)
	s := first.service("echo")
	request := pushedToShop(hook.URL)
	request.Config.ReturnImmediately = true
	if _, err := s.SendMessage(as(t, alice), request); err != nil {
		t.Fatal(err)
	}
	<-reached
	hook.waitFor(t, "1 2 3")
	newHost(t, open(), agent, brief, withPush(t))
	resume.open()
	die(first)
	waittest.Until(t, "the last event", func() bool { return strings.HasSuffix(ids(hook.received()), "6") })
	last := ""
	for _, event := range hook.received() {
		if event.id < last {
			t.Errorf("the order is %s", ids(hook.received()))
		}
		last = event.id
	}
	for _, id := range strings.Fields("1 2 3 4 5 6") {
		if !strings.Contains(ids(hook.received()), id) {
			t.Errorf("%s is missing in %s", id, ids(hook.received()))
		}
	}
}
