package sqlstore_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/internal/jobs"
	"parley/storage/sqlstore"
)

func pushTo(runID, id string) domain.PushConfig {
	return domain.PushConfig{
		RunID: runID, ID: id, URL: "https://example.com/" + id, Receiver: "example.com", Scheme: "Bearer", Secrets: []byte("sealed " + id),
		Modes: "text/plain", Version: "0.3",
	}
}

// pushes lists a run's configs by id.
func (w world) pushes(caller domain.Caller, runID string) string {
	w.t.Helper()
	configs, err := w.PushConfigs(w.t.Context(), caller, runID)
	w.must(err)
	var ids []string
	for _, config := range configs {
		ids = append(ids, config.ID)
	}
	return strings.Join(ids, " ")
}

// PushConfig returns one of a run's configs; ErrNotFound when it has none with this id.
func (w world) PushConfig(ctx context.Context, caller domain.Caller, runID, id string) (domain.PushConfig, error) {
	configs, err := w.PushConfigs(ctx, caller, runID)
	for _, config := range configs {
		if config.ID == id {
			return config, nil
		}
	}
	return domain.PushConfig{}, errors.Join(err, domain.ErrNotFound)
}

// due lists what a host could send, by id.
func (w world) due(holder string) []domain.DuePush {
	w.t.Helper()
	due, err := w.DuePushes(w.t.Context(), holder, nil, 100)
	w.must(err)
	return due
}

// claimPush has a host claim what is due, which must be one config.
func (w world) claimPush(holder string) domain.Push {
	w.t.Helper()
	claimed, err := w.ClaimPushes(w.t.Context(), holder, w.due(holder))
	w.must(err)
	if len(claimed) != 1 {
		w.t.Fatalf("claimed %+v", claimed)
	}
	return claimed[0]
}

func TestPushConfigs(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		run := w.ask(alice, "ns", uuid.NewString(), "?").RunID
		if got := w.pushes(alice, run); got != "" {
			t.Errorf("a new run has %q", got)
		}
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "b")))
		bare := domain.PushConfig{RunID: run, ID: "a", URL: "https://example.org", Receiver: "example.org"}
		w.must(w.SavePushConfig(ctx, alice, bare))
		for _, want := range []domain.PushConfig{bare, pushTo(run, "b")} {
			if got, err := w.PushConfig(ctx, alice, run, want.ID); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v, %v", got, err)
			}
		}
		changed := pushTo(run, "a")
		w.must(w.SavePushConfig(ctx, alice, changed))
		if got, err := w.PushConfig(ctx, alice, run, "a"); err != nil || !reflect.DeepEqual(got, changed) {
			t.Errorf("after a change: %+v, %v", got, err)
		}
		for i := range domain.MaxPushConfigs - 2 {
			w.must(w.SavePushConfig(ctx, alice, pushTo(run, fmt.Sprint("c", i))))
		}
		if err := w.SavePushConfig(ctx, alice, pushTo(run, "d")); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("one too many: %v", err)
		}
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "a")))
		w.must(w.DeletePushConfig(ctx, alice, run, "a"))
		w.must(w.DeletePushConfig(ctx, alice, run, "a"))
		if _, err := w.PushConfig(ctx, alice, run, "a"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("after its end: %v", err)
		}
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "d")))
	})
}

// Configs are their run's owner's in every operation, and a token's as far as it goes.
func TestPushConfigsAreTheAskers(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorld(t, store), t.Context()
		w.must(w.ShareNamespace(ctx, user("alice"), nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Editor}))
		w.create("alice", "other", "three")
		run := w.ask(user("alice"), "ns", uuid.NewString(), "?").RunID
		w.must(w.SavePushConfig(ctx, user("alice"), pushTo(run, "a")))
		elsewhere := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "other"})
		reader := w.readOnly("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		writer := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		for _, test := range []struct {
			caller       domain.Caller
			read, change error
		}{
			{user("bob"), domain.ErrNotFound, domain.ErrNotFound},
			{elsewhere, domain.ErrNotFound, domain.ErrNotFound},
			{reader, nil, domain.ErrForbidden},
			{writer, nil, nil},
		} {
			_, get := w.PushConfig(ctx, test.caller, run, "a")
			_, list := w.PushConfigs(ctx, test.caller, run)
			for name, err := range map[string]error{"get": get, "list": list} {
				if !errors.Is(err, test.read) {
					t.Errorf("%+v, %s: %v", test.caller, name, err)
				}
			}
			for name, err := range map[string]error{
				"save":   w.SavePushConfig(ctx, test.caller, pushTo(run, "b")),
				"delete": w.DeletePushConfig(ctx, test.caller, run, "b"),
			} {
				if !errors.Is(err, test.change) {
					t.Errorf("%+v, %s: %v", test.caller, name, err)
				}
			}
		}
		if got := w.pushes(user("alice"), run); got != "a" {
			t.Errorf("left are %q", got)
		}
		// A read-only token has those of what was asked with it.
		own := w.ask(reader, "ns", uuid.NewString(), "?").RunID
		w.must(w.SavePushConfig(ctx, reader, pushTo(own, "a")))
		w.must(w.DeletePushConfig(ctx, reader, own, "a"))
	})
}

// Configs go with what they belong to.
func TestPushConfigsGo(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		gone := func(what string) {
			t.Helper()
			if open, err := w.OpenPushes(ctx); err != nil || open {
				t.Errorf("some are left of the %s: %v", what, err)
			}
		}
		conversation := uuid.NewString()
		run := w.ask(alice, "ns", conversation, "?").RunID
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "a")))
		if open, err := w.OpenPushes(ctx); err != nil || !open {
			t.Errorf("none is found: %v", err)
		}
		w.must(w.DeleteRun(ctx, alice, run))
		gone("run")
		run = w.ask(alice, "ns", conversation, "?").RunID
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "a")))
		w.must(w.DeleteConversation(ctx, alice, conversation))
		gone("conversation")
		writer := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		run = w.ask(alice, "ns", conversation, "?").RunID
		w.must(w.SavePushConfig(ctx, writer, pushTo(run, "a")))
		if push := w.claimPush("host"); push.Caller != writer {
			t.Errorf("it is read as %+v", push.Caller)
		}
		w.must(w.DeleteToken(ctx, alice, writer.Restriction))
		gone("token")
		token := domain.NewToken{Token: domain.Token{ID: uuid.NewString(), Access: "write", ExpiresAt: time.Now().Add(time.Hour)}, Hash: []byte("hash")}
		w.must(w.CreateAuthorization(ctx, alice, domain.Authorization{NewToken: token}))
		application, err := w.TokenCaller(ctx, token.ID, token.Hash)
		w.must(err)
		w.must(w.SavePushConfig(ctx, application, pushTo(run, "a")))
		if push := w.claimPush("host"); push.Caller != alice {
			t.Errorf("it is read as %+v", push.Caller)
		}
		w.must(w.DeleteToken(ctx, alice, token.ID))
		gone("token of an application")
	})
}

// A config that comes with a run is there when the run is, in one batch with others.
func TestPushWithRun(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		with, without := w.start(uuid.NewString()), w.start(uuid.NewString())
		with.Start.Push = new(pushTo("", "a"))
		w.expectKinds(w.batch(with, without, step(with.RunID, 0, 1)), nil, nil, nil)
		if got, err := w.PushConfig(ctx, alice, with.RunID, "a"); err != nil || !reflect.DeepEqual(got, pushTo(with.RunID, "a")) {
			t.Errorf("got %+v, %v", got, err)
		}
		if got := w.pushes(alice, without.RunID); got != "" {
			t.Errorf("the other has %q", got)
		}
		if push := w.claimPush("host"); push.Position != 0 || push.Caller != alice {
			t.Errorf("claimed %+v", push)
		}
		// With a token that was revoked it is no run at all.
		token := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		late := w.start(uuid.NewString())
		late.Start.Caller, late.Start.Push = token, new(pushTo("", "a"))
		w.must(w.DeleteToken(ctx, alice, token.Restriction))
		w.expectKinds(w.batch(late), domain.ErrNotFound)
	})
}

func TestPushOutbox(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		w.host("one")
		w.host("two")
		run := w.ask(alice, "ns", uuid.NewString(), "?").RunID
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "a")))
		none := func(what string) {
			t.Helper()
			for _, host := range []string{"one", "two"} {
				if due := w.due(host); len(due) != 0 {
					t.Errorf("%s, %s: %+v", what, host, due)
				}
			}
		}
		push := w.claimPush("one")
		if push.Position != domain.PushFromTask || !reflect.DeepEqual(push.PushConfig, pushTo(run, "a")) {
			t.Errorf("claimed %+v", push)
		}
		none("while a living host has it")
		w.must(w.ReleasePush(ctx, "one", push, domain.PushResult{Position: 0}))
		none("without an event")
		w.must(sqlstoretest.Append(w, step(run, 0, 3)))
		push = w.claimPush("two")
		if push.Position != 0 {
			t.Errorf("claimed %+v", push)
		}
		w.must(w.AdvancePush(ctx, "two", push, 1))

		// A host that dies is followed by another, and cannot go on.
		w.killHost("two")
		if push = w.claimPush("one"); push.Position != 1 {
			t.Errorf("took over %+v", push)
		}
		for name, err := range map[string]error{
			"advance": w.AdvancePush(ctx, "two", push, 3),
			"release": w.ReleasePush(ctx, "two", push, domain.PushResult{Position: 3}),
		} {
			if !errors.Is(err, domain.ErrConflict) {
				t.Errorf("%s by the one before: %v", name, err)
			}
		}
		w.host("two")

		// Failures count until something is received.
		w.must(w.ReleasePush(ctx, "one", push, domain.PushResult{Position: 1, Failed: true, Pause: -time.Second}))
		push = w.claimPush("one")
		if push.Failures != 1 || push.Failing < 0 || push.Failing > time.Hour {
			t.Errorf("after a failure: %+v", push)
		}
		w.must(store.Exec(ctx, `UPDATE push_configs SET failing_since = failing_since - 3600000`))
		w.must(w.ReleasePush(ctx, "one", push, domain.PushResult{Position: 1, Failed: true, Pause: -time.Second}))
		if push = w.claimPush("one"); push.Failures != 2 || push.Failing < time.Hour {
			t.Errorf("after two failures: %+v", push)
		}
		w.must(w.AdvancePush(ctx, "one", push, 2))
		w.killHost("one")
		if push = w.claimPush("two"); push.Failures != 0 || push.Failing != 0 || push.Position != 2 {
			t.Errorf("after progress: %+v", push)
		}
		w.host("one")
		w.must(w.ReleasePush(ctx, "two", push, domain.PushResult{Position: 2, Failed: true, Pause: -time.Second}))
		push = w.claimPush("two")
		w.must(store.Exec(ctx, `UPDATE push_configs SET failing_since = failing_since - 3600000, position = 1`))
		w.must(w.ReleasePush(ctx, "two", push, domain.PushResult{Position: 2, Failed: true, Pause: -time.Second}))
		if push = w.claimPush("two"); push.Failures != 1 || push.Failing >= time.Hour {
			t.Errorf("after progress, then a failure: %+v", push)
		}
		w.must(w.ReleasePush(ctx, "two", push, domain.PushResult{Position: 2, Failed: true, Pause: time.Hour}))
		none("in a pause")

		// A config that is replaced goes on at once where it was, with what is new.
		changed := pushTo(run, "a")
		changed.URL = "https://example.org"
		w.must(w.SavePushConfig(ctx, alice, changed))
		if push = w.claimPush("one"); push.Position != 2 || push.URL != changed.URL || push.Failures != 0 {
			t.Errorf("after a change: %+v", push)
		}
		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "a")))
		if err := w.AdvancePush(ctx, "one", push, 3); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("with what was replaced: %v", err)
		}

		// What was claimed and is not sent is left to others.
		push = w.claimPush("one")
		for _, used := range []bool{true, false} {
			released, err := w.ReleaseUnused(ctx, jobs.Pushes, "one", func(key string) bool { return used && key == push.Key() })
			if err != nil || (len(released) == 0) != used {
				t.Errorf("released are %v, %v", released, err)
			}
		}
		push = w.claimPush("two")

		// The end of a run is seen though nothing is left to send.
		w.must(w.ReleasePush(ctx, "two", push, domain.PushResult{Position: 3}))
		none("with all received")
		w.must(w.finish(alice, run, domain.RunOutcome{Status: domain.RunCompleted}))
		push = w.claimPush("one")
		w.must(w.ReleasePush(ctx, "one", push, domain.PushResult{Position: 3, Ended: true}))
		none("after the end")
		if open, err := w.OpenPushes(ctx); err != nil || open {
			t.Errorf("open after the end: %v", err)
		}
		if got := w.pushes(alice, run); got != "a" {
			t.Errorf("listed are %q", got)
		}

		w.must(w.SavePushConfig(ctx, alice, pushTo(run, "a")))
		push = w.claimPush("one")
		w.must(w.DeletePushConfig(ctx, alice, run, "a"))
		if err := w.AdvancePush(ctx, "one", push, 3); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("after it was deleted: %v", err)
		}
	})
}

// One owner, or one receiver, with much to send hides nobody.
func TestPushesAlternate(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorld(t, store), t.Context()
		save := func(owner, receiver string, count int) {
			w.must(w.ShareNamespace(ctx, user("alice"), nsRef("alice", "ns"), domain.Grant{Username: owner, Role: domain.Viewer}))
			for i := range count {
				run := w.ask(user(owner), "ns", uuid.NewString(), "?").RunID
				config := pushTo(run, "a")
				config.Receiver = strings.ReplaceAll(receiver, "*", fmt.Sprint(i))
				w.must(w.SavePushConfig(ctx, user(owner), config))
			}
		}
		save("mallory", "*.example.com", 30)
		for _, owner := range strings.Fields("a b c d e f g h i j k l m n o p") {
			save(owner, "slow.example.com", 1)
		}
		save("zoe", "quick.example.com", 1)
		due, err := w.DuePushes(ctx, "host", nil, 10)
		w.must(err)
		owners, receivers := map[string]int{}, map[string]int{}
		for _, push := range due {
			owners[push.Owner]++
			receivers[push.Receiver]++
		}
		if len(due) != 10 || owners["zoe"] != 1 {
			t.Errorf("due are %v, %v", owners, receivers)
		}
		all := w.due("host")
		if len(all) != 47 {
			t.Errorf("%d are due", len(all))
		}
		some, err := w.DuePushes(ctx, "host", []string{all[3].RunID, all[40].RunID, uuid.NewString()}, 10)
		if err != nil || len(some) != 2 || !slices.Contains(all, some[0]) || !slices.Contains(all, some[1]) {
			t.Errorf("of two runs: %+v, %v", some, err)
		}
	})
}

// A user has a limited number of configs that have not ended, also of those that processes add
// at the same time.
func TestPushConfigsOfAUser(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		w.addPushes(domain.MaxUserPushConfigs - domain.MaxPushConfigs)
		run := w.ask(alice, "ns", uuid.NewString(), "?").RunID
		other := w.ask(alice, "ns", uuid.NewString(), "?").RunID
		add := func(i int) error {
			if i%2 == 0 {
				config := pushTo("", "x")
				_, err := sqlstoretest.Ask(ctx, w, alice, domain.Question{
					Agent: "assistant", Namespace: nsRef("alice", "ns"), ConversationID: uuid.NewString(), Text: "?", Push: &config})
				return err
			}
			return w.SavePushConfig(ctx, alice, pushTo([]string{run, other}[i/2%2], fmt.Sprint(i)))
		}
		var added, refused atomic.Int32
		var group sync.WaitGroup
		for i := range 2 * domain.MaxPushConfigs {
			group.Go(func() {
				switch err := add(i); {
				case err == nil:
					added.Add(1)
				case errors.Is(err, domain.ErrTooMany):
					refused.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if added.Load() != domain.MaxPushConfigs || refused.Load() != domain.MaxPushConfigs {
			t.Errorf("%d were added and %d refused", added.Load(), refused.Load())
		}
		w.must(w.Exec(ctx, `UPDATE push_configs SET ended = TRUE WHERE run_id = (SELECT MIN(run_id) FROM push_configs)`))
		w.must(add(0))
		w.must(w.SavePushConfig(ctx, alice, pushTo(other, "y")))
		w.must(w.SavePushConfig(ctx, alice, pushTo(other, "y"))) // again
		// One of an older program counts when it is replaced.
		w.must(w.Exec(ctx, `UPDATE push_configs SET owner = '' WHERE run_id = $1 AND id = 'y'`, other))
		w.must(w.SavePushConfig(ctx, alice, pushTo(other, "y")))
		var owner string
		w.must(w.GetContext(ctx, &owner, `SELECT owner FROM push_configs WHERE run_id = $1 AND id = 'y'`, other))
		if owner != "alice" {
			t.Errorf("the config is of %q", owner)
		}
	})
}
