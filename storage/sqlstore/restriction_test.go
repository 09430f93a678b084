package sqlstore_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

// restricted gives owner a token for some scopes and the caller it makes.
func (w world) restricted(owner string, scopes ...storage.Scope) storage.Caller {
	w.t.Helper()
	id := uuid.NewString()
	w.must(w.CreateToken(w.t.Context(), user(owner), storage.NewToken{
		Token:       storage.Token{ID: id, Name: "test", CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour)},
		Hash:        []byte(id),
		Permissions: storage.TokenPermissions{Restricted: true, Scopes: scopes},
	}))
	caller, err := w.TokenCaller(w.t.Context(), id, []byte(id))
	w.must(err)
	if !caller.Restricted() {
		w.t.Fatalf("caller of a restricted token is not restricted: %+v", caller)
	}
	return caller
}

func TestRestrictionHidesTheRest(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")
		w.create("bob", "ns", "four")
		w.must(w.ShareNamespace(t.Context(), user("bob"), nsRef("bob", "ns"), storage.Grant{Username: "alice", Role: storage.Viewer}))

		for name, test := range map[string]struct {
			scopes               []storage.Scope
			datasets, namespaces string
		}{
			"a namespace":         {[]storage.Scope{{Owner: "alice", Namespace: "NS"}}, "alice/ns/one alice/ns/two", "alice/ns"},
			"a dataset":           {[]storage.Scope{{Owner: "alice", Namespace: "ns", Dataset: "ONE"}}, "alice/ns/one", "alice/ns"},
			"a shared namespace":  {[]storage.Scope{{Owner: "bob", Namespace: "ns"}}, "bob/ns/four", "bob/ns"},
			"two":                 {[]storage.Scope{{Owner: "alice", Namespace: "ns", Dataset: "two"}, {Owner: "alice", Namespace: "other"}}, "alice/ns/two alice/other/three", "alice/ns alice/other"},
			"nothing that exists": {[]storage.Scope{{Owner: "alice", Namespace: "ns", Dataset: "none"}}, "", ""},
			"another's, unshared": {[]storage.Scope{{Owner: "carol", Namespace: "ns"}}, "", ""},
			"nothing":             {nil, "", ""},
		} {
			caller := w.restricted("alice", test.scopes...)
			if got := w.visible(caller); got != test.datasets {
				t.Errorf("%s: datasets: got %q, want %q", name, got, test.datasets)
			}
			if got := w.visibleNamespaces(caller); got != test.namespaces {
				t.Errorf("%s: namespaces: got %q, want %q", name, got, test.namespaces)
			}
		}
	})
}

func TestRestrictionHoldsInEveryDoing(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")

		elsewhere := w.restricted("alice", storage.Scope{Owner: "alice", Namespace: "other"})
		for name, do := range doings(w, elsewhere) {
			if err := do(); !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("token for another namespace, %s: got %v, want not found", name, err)
			}
		}

		// A token for one dataset does what its user may to that dataset, and
		// nothing to the namespace around it.
		one := w.restricted("alice", storage.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		for name, do := range doings(w, one) {
			if strings.HasPrefix(name, "delete dataset") || strings.HasPrefix(name, "revoke dataset") {
				continue
			}
			err := do()
			if strings.Contains(name, "namespace") && name != "list namespace" {
				if !errors.Is(err, storage.ErrForbidden) {
					t.Errorf("token for one dataset, %s: got %v, want forbidden", name, err)
				}
			} else if err != nil {
				t.Errorf("token for one dataset, %s: %v", name, err)
			}
		}
	})
}

func TestRestrictionHoldsForNewNames(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		ns := w.restricted("alice", storage.Scope{Owner: "alice", Namespace: "ns"})
		one := w.restricted("alice", storage.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})

		forbidden := map[string]error{
			"create under another's name": w.CreateDataset(ctx, w.restricted("alice", storage.Scope{Owner: "bob", Namespace: "own"}), "own", "x", storage.Definition{}),
			"create elsewhere":            w.CreateDataset(ctx, ns, "other", "x", storage.Definition{}),
			"create a neighbour":          w.CreateDataset(ctx, one, "ns", "x", storage.Definition{}),
			"create what exists":          w.CreateDataset(ctx, one, "ns", "two", storage.Definition{}),
			"rename out of the token":     w.RenameDataset(ctx, one, dsRef("alice", "ns", "one"), "x"),
			"rename the namespace":        w.RenameNamespace(ctx, ns, nsRef("alice", "ns"), "other"),
			"make a wider token":          w.CreateToken(ctx, ns, storage.NewToken{Token: storage.Token{ID: uuid.NewString()}}),
			"end a token":                 w.DeleteToken(ctx, ns, one.Restriction),
		}
		for name, err := range forbidden {
			if !errors.Is(err, storage.ErrForbidden) {
				t.Errorf("%s: got %v, want forbidden", name, err)
			}
		}
		w.must(w.CreateDataset(ctx, ns, "NS", "x", storage.Definition{}))
		w.must(w.DeleteDataset(ctx, one, dsRef("alice", "ns", "one")))
		w.must(w.CreateDataset(ctx, one, "ns", "One", storage.Definition{}))
		if got, want := w.visible(user("alice")), "alice/ns/One alice/ns/two alice/ns/x"; got != want {
			t.Errorf("in the end: got %q, want %q", got, want)
		}
	})
}

func TestRestrictionHoldsForRuns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		w.create("alice", "other", "three")
		ctx, alice := t.Context(), user("alice")
		wholly := w.restricted("alice", storage.Scope{Owner: "alice", Namespace: "ns"})
		partly := w.restricted("alice", storage.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})

		free := w.ask(alice, "ns", uuid.NewString(), "asked freely")
		apart := w.ask(alice, "other", uuid.NewString(), "asked elsewhere")
		own := w.ask(partly, "ns", uuid.NewString(), "asked with the narrow token")
		joined := w.ask(alice, "ns", own.ConversationID, "asked freely, in the same conversation")

		for _, test := range []struct {
			name   string
			caller storage.Caller
			sees   []storage.Asking
			not    []storage.Asking
		}{
			{"without restriction", alice, []storage.Asking{free, apart, own, joined}, nil},
			{"covering the namespace", wholly, []storage.Asking{free, own, joined}, []storage.Asking{apart}},
			{"covering a dataset", partly, []storage.Asking{own}, []storage.Asking{free, apart, joined}},
		} {
			for _, run := range test.sees {
				if _, err := w.Run(ctx, test.caller, run.RunID); err != nil {
					t.Errorf("%s: run %q: %v", test.name, run.Text, err)
				}
			}
			for _, run := range test.not {
				if _, err := w.Run(ctx, test.caller, run.RunID); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("%s: run %q: got %v, want not found", test.name, run.Text, err)
				}
				if err := w.DeleteRun(ctx, test.caller, run.RunID); !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("%s: delete run %q: got %v, want not found", test.name, run.Text, err)
				}
				err := w.finish(test.caller, run.RunID, storage.RunOutcome{Status: storage.RunFailed})
				if !errors.Is(err, storage.ErrNotFound) {
					t.Errorf("%s: finish run %q: got %v, want not found", test.name, run.Text, err)
				}
			}
		}

		mixed := w.ask(alice, "other", uuid.NewString(), "the first question, elsewhere")
		w.ask(wholly, "ns", w.ask(alice, "ns", mixed.ConversationID, "the second, here").ConversationID, "the third, here")
		if title, _, err := w.Conversation(ctx, wholly, mixed.ConversationID); err != nil || title != "the second, here" {
			t.Errorf("title for a token that does not cover the first question: %q, %v", title, err)
		}
		list, err := w.Conversations(ctx, wholly, storage.NamespaceRef{})
		w.must(err)
		for _, conversation := range list {
			if strings.Contains(conversation.Title, "elsewhere") {
				t.Errorf("the list tells a title: %q", conversation.Title)
			}
		}

		if got := w.questions(partly, own.ConversationID); got != own.Text {
			t.Errorf("turns for the narrow token: got %q", got)
		}
		if _, _, err := w.Conversation(ctx, partly, free.ConversationID); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("a conversation the narrow token does not cover: got %v, want not found", err)
		}
		if list, err := w.Conversations(ctx, partly, storage.NamespaceRef{}); err != nil || len(list) != 1 {
			t.Errorf("conversations of the narrow token: got %v, %v", list, err)
		}
		if err := w.DeleteConversation(ctx, partly, own.ConversationID); !errors.Is(err, storage.ErrForbidden) {
			t.Errorf("delete a conversation with another's turn: got %v, want forbidden", err)
		}
		_, err = w.tryToAsk(partly, "ns", free.ConversationID, "?")
		if !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("join a conversation that the token does not cover: got %v, want not found", err)
		}

		w.must(w.DeleteToken(ctx, alice, partly.Restriction))
		if got := w.visible(partly); got != "" {
			t.Errorf("a caller whose token has ended sees %q", got)
		}
	})
}
