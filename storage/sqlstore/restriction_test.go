package sqlstore_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// newToken is a restricted token to be created.
func newToken(access domain.TokenAccess, scopes ...domain.Scope) domain.NewToken {
	id := uuid.NewString()
	return domain.NewToken{
		Token: domain.Token{ID: id, Name: "test", Access: access, CreatedAt: time.Now(), ExpiresAt: time.Now().Add(time.Hour), Restricted: true, Scopes: scopes},
		Hash:  []byte(id),
	}
}

// restricted gives owner a token that writes to some scopes and the caller it
// makes; readOnly one that reads.
func (w world) restricted(owner string, scopes ...domain.Scope) domain.Caller {
	w.t.Helper()
	return w.withToken(owner, newToken(domain.WriteAccess, scopes...))
}

func (w world) readOnly(owner string, scopes ...domain.Scope) domain.Caller {
	w.t.Helper()
	return w.withToken(owner, newToken(domain.ReadAccess, scopes...))
}

func (w world) withToken(owner string, token domain.NewToken) domain.Caller {
	w.t.Helper()
	w.must(w.CreateToken(w.t.Context(), user(owner), token))
	caller, err := w.TokenCaller(w.t.Context(), token.ID, token.Hash)
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
		w.must(w.ShareNamespace(t.Context(), user("bob"), nsRef("bob", "ns"), domain.Grant{Username: "alice", Role: domain.Viewer}))

		for name, test := range map[string]struct {
			scopes               []domain.Scope
			datasets, namespaces string
		}{
			"a namespace":        {[]domain.Scope{{Owner: "alice", Namespace: "NS"}}, "alice/ns/one alice/ns/two", "alice/ns"},
			"a dataset":          {[]domain.Scope{{Owner: "alice", Namespace: "ns", Dataset: "ONE"}}, "alice/ns/one", "alice/ns"},
			"a shared namespace": {[]domain.Scope{{Owner: "bob", Namespace: "ns"}}, "bob/ns/four", "bob/ns"},
			"two":                {[]domain.Scope{{Owner: "alice", Namespace: "ns", Dataset: "two"}, {Owner: "alice", Namespace: "other"}}, "alice/ns/two alice/other/three", "alice/ns alice/other"},
			"nothing":            {nil, "", ""},
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

		elsewhere := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "other"})
		for name, do := range doings(w, elsewhere) {
			if err := do(); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("token for another namespace, %s: got %v, want not found", name, err)
			}
		}

		// A token that writes to one dataset does what its user may to that
		// dataset, but for sharing and renaming it, and nothing to the namespace around it.
		one := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		for name, do := range doings(w, one) {
			if name == "delete dataset" {
				continue
			}
			err := do()
			shares := strings.HasPrefix(name, "share") || strings.HasPrefix(name, "revoke")
			if shares || name == "rename dataset" || strings.Contains(name, "namespace") && name != "list namespace" {
				if !errors.Is(err, domain.ErrForbidden) {
					t.Errorf("token for one dataset, %s: got %v, want forbidden", name, err)
				}
			} else if err != nil {
				t.Errorf("token for one dataset, %s: %v", name, err)
			}
		}
	})
}

// TestReadOnlyTokenChangesNothing has a token that covers a namespace whole, or a
// dataset, do everything there: it reads, and is told that it is read-only.
func TestReadOnlyTokenChangesNothing(t *testing.T) {
	t.Parallel()
	reads := []string{"read dataset", "list namespace", "read links", "dataset shares", "namespace shares"}
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		whole := w.readOnly("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		run := w.ask(whole, "ns", uuid.NewString(), "asked with the token")
		doings := doings(w, whole)
		doings["create dataset"] = func() error { return w.CreateDataset(ctx, whole, "ns", "three", domain.Definition{}) }
		doings["may create dataset"] = func() error { return w.MayCreateDataset(ctx, whole, "ns") }
		doings["may upload"] = func() error { return w.MayUpload(ctx, whole, 1) }
		doings["upload"] = func() error {
			return w.CreateUploadSession(ctx, whole, domain.UploadSession{ID: uuid.NewString()})
		}
		doings["commit rows"] = func() error {
			data, err := w.DatasetData(ctx, alice, dsRef("alice", "ns", "one"))
			w.must(err)
			return w.CommitVersion(ctx, domain.VersionChange{Caller: whole, DatasetID: data.ID, Replace: true})
		}
		doings["define and ingest"] = func() error {
			return w.StartIngestion(ctx, whole, dsRef("alice", "ns", "new"), domain.NewIngestion{ID: uuid.NewString(), Define: &domain.DefinitionPatch{}})
		}
		doings["delete run"] = func() error { return w.DeleteRun(ctx, whole, run.RunID) }
		doings["rename conversation"] = func() error { return w.RenameConversation(ctx, whole, run.ConversationID, "x") }
		doings["delete conversation"] = func() error { return w.DeleteConversation(ctx, whole, run.ConversationID) }
		for name, do := range doings {
			err := do()
			shares := strings.HasPrefix(name, "share") || strings.HasPrefix(name, "revoke")
			switch {
			case slices.Contains(reads, name):
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			case shares && !errors.Is(err, domain.ErrForbidden):
				t.Errorf("%s: got %v, want forbidden", name, err)
			case !shares && !errors.Is(err, domain.ErrReadOnlyToken):
				t.Errorf("%s: got %v, want that the token is read-only", name, err)
			}
		}
		data, err := w.DatasetData(ctx, whole, dsRef("alice", "ns", "one"))
		if err != nil || data.MayEdit() == nil {
			t.Errorf("dataset's files: %+v, %v", data, err)
		}
		// A viewer is told of the role, as without a token.
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		viewer := w.readOnly("bob", domain.Scope{Owner: "alice", Namespace: "ns"})
		if err := w.ClearDataset(ctx, viewer, dsRef("alice", "ns", "one")); !errors.Is(err, domain.ErrForbidden) || errors.Is(err, domain.ErrReadOnlyToken) {
			t.Errorf("a viewer's read-only token: %v", err)
		}
	})
}

// TestReadOnlyTokenCancelsItsOwnRuns and no others that it sees.
func TestReadOnlyTokenCancelsItsOwnRuns(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		scope := domain.Scope{Owner: "alice", Namespace: "ns"}
		reads, writes := w.readOnly("alice", scope), w.restricted("alice", scope)
		own := w.ask(reads, "ns", uuid.NewString(), "asked with the token")
		other := w.ask(user("alice"), "ns", uuid.NewString(), "asked without")
		for _, test := range []struct {
			caller domain.Caller
			run    domain.Question
			want   bool
		}{{reads, own, true}, {reads, other, false}, {writes, own, true}, {writes, other, true}, {user("alice"), own, true}} {
			task, err := w.Task(t.Context(), test.caller, "", test.run.RunID, false)
			if err != nil || task.MayCancel != test.want {
				t.Errorf("%+v, %q: may cancel is %v, %v", test.caller, test.run.Text, task.MayCancel, err)
			}
		}
	})
}

// TestTokenHoldsToWhatItsNamesMeant renames what tokens cover, and gives the names
// to other things.
func TestTokenHoldsToWhatItsNamesMeant(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		ns := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		one := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		expect := func(what, inNamespace, inDataset string) {
			t.Helper()
			if got := w.visible(ns); got != inNamespace {
				t.Errorf("%s: the namespace's token sees %q, want %q", what, got, inNamespace)
			}
			if got := w.visible(one); got != inDataset {
				t.Errorf("%s: the dataset's token sees %q, want %q", what, got, inDataset)
			}
		}
		w.must(w.RenameDataset(ctx, alice, dsRef("alice", "ns", "one"), "first"))
		w.create("alice", "ns", "one")
		expect("dataset renamed and replaced", "alice/ns/first alice/ns/one alice/ns/two", "alice/ns/first")
		w.must(w.RenameNamespace(ctx, alice, nsRef("alice", "ns"), "old"))
		w.create("alice", "ns", "one")
		expect("namespace renamed and replaced", "alice/old/first alice/old/one alice/old/two", "alice/old/first")
		token, err := w.Token(ctx, alice, one.Restriction)
		if want := (domain.Scope{Owner: "alice", Namespace: "old", Dataset: "first"}); err != nil || !slices.Equal(token.Scopes, []domain.Scope{want}) {
			t.Errorf("a token after renaming: %+v, %v", token, err)
		}
		if own, err := w.Token(ctx, one, one.Restriction); err != nil || !reflect.DeepEqual(own, token) {
			t.Errorf("a token that reads itself: %+v, %v", own, err)
		}
		if _, err := w.Token(ctx, one, ns.Restriction); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("another token: got %v, want forbidden", err)
		}
		if _, err := w.Tokens(ctx, one); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("all tokens: got %v, want forbidden", err)
		}
		w.must(w.CreateToken(ctx, alice, domain.NewToken{Token: domain.Token{ID: uuid.NewString(), Access: domain.WriteAccess}}))
		list, err := w.Tokens(ctx, alice)
		if err != nil || len(list) != 3 || list[2].Restricted || len(list[2].Scopes) > 0 ||
			!slices.ContainsFunc(list, func(other domain.Token) bool { return reflect.DeepEqual(other, token) }) {
			t.Errorf("tokens after renaming: %+v, %v", list, err)
		}
		w.must(w.DeleteDataset(ctx, alice, dsRef("alice", "old", "first")))
		w.create("alice", "old", "first")
		expect("dataset deleted and replaced", "alice/old/first alice/old/one alice/old/two", "")
		w.must(w.DeleteNamespace(ctx, alice, nsRef("alice", "old"), true))
		w.create("alice", "old", "first")
		expect("namespace deleted and replaced", "", "")
		if err := w.CreateDataset(ctx, ns, "old", "x", domain.Definition{}); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("create in a namespace of the same name: got %v, want forbidden", err)
		}
		token, err = w.Token(ctx, alice, ns.Restriction)
		if err != nil || !token.Restricted || len(token.Scopes) > 0 {
			t.Errorf("a token after deleting: %+v, %v", token, err)
		}
	})
}

// TestTokenScopesMustExist for the user who creates the token, and permissions
// show no names of what that user may no longer see.
func TestTokenScopesMustExist(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, bob := t.Context(), user("bob")
		w.must(w.ShareDataset(ctx, user("alice"), dsRef("alice", "ns", "one"), domain.Grant{Username: "bob", Role: domain.Editor}))
		one := domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"}
		err := w.CreateToken(ctx, bob, newToken(domain.ReadAccess, one,
			domain.Scope{Owner: "alice", Namespace: "none"},
			domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "two"}))
		var said *domain.Error
		if !errors.Is(err, domain.ErrInvalid) || !errors.As(err, &said) || len(said.Fields) != 2 || said.Fields[1].Field != "accessRestrictedTo[2]" {
			t.Errorf("got %v, %+v", err, said)
		}
		if list, err := w.Tokens(ctx, bob); err != nil || len(list) > 0 {
			t.Errorf("tokens: %v, %v", list, err)
		}
		token := w.readOnly("bob", one)
		w.must(w.RevokeDatasetShare(ctx, user("alice"), dsRef("alice", "ns", "one"), "bob"))
		w.must(w.RenameDataset(ctx, user("alice"), dsRef("alice", "ns", "one"), "secret"))
		if found, err := w.Token(ctx, bob, token.Restriction); err != nil || len(found.Scopes) > 0 {
			t.Errorf("a token for what is no longer shared: %+v, %v", found, err)
		}
	})
}

func TestRestrictionHoldsForNewNames(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx := t.Context()
		ns := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		one := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})
		w.create("bob", "own", "y")
		w.must(w.ShareNamespace(ctx, user("bob"), nsRef("bob", "own"), domain.Grant{Username: "alice", Role: domain.Editor}))
		theirs := w.restricted("alice", domain.Scope{Owner: "bob", Namespace: "own"})

		forbidden := map[string]error{
			"create under another's name": w.CreateDataset(ctx, theirs, "own", "x", domain.Definition{}),
			"create elsewhere":            w.CreateDataset(ctx, ns, "other", "x", domain.Definition{}),
			"create a neighbour":          w.CreateDataset(ctx, one, "ns", "x", domain.Definition{}),
			"create what exists":          w.CreateDataset(ctx, one, "ns", "two", domain.Definition{}),
			"rename to a hidden name":     w.RenameDataset(ctx, one, dsRef("alice", "ns", "one"), "two"),
			"rename to a new name":        w.RenameDataset(ctx, one, dsRef("alice", "ns", "one"), "first"),
			"rename the namespace around": w.RenameNamespace(ctx, one, nsRef("alice", "ns"), "other"),
			"make a wider token":          w.CreateToken(ctx, ns, domain.NewToken{Token: domain.Token{ID: uuid.NewString()}}),
			"end a token":                 w.DeleteToken(ctx, ns, one.Restriction),
		}
		for name, err := range forbidden {
			if !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("%s: got %v, want forbidden", name, err)
			}
		}
		w.must(w.CreateDataset(ctx, ns, "NS", "x", domain.Definition{}))
		w.must(w.RenameDataset(ctx, ns, dsRef("alice", "ns", "one"), "first"))
		w.must(w.RenameNamespace(ctx, ns, nsRef("alice", "ns"), "other"))
		w.must(w.DeleteDataset(ctx, one, dsRef("alice", "other", "first")))
		if err := w.CreateDataset(ctx, one, "other", "first", domain.Definition{}); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("create again what a token for one dataset deleted: got %v, want forbidden", err)
		}
		if got, want := w.visible(user("alice")), "alice/other/two alice/other/x bob/own/y"; got != want {
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
		wholly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		partly := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"})

		free := w.ask(alice, "ns", uuid.NewString(), "asked freely")
		apart := w.ask(alice, "other", uuid.NewString(), "asked elsewhere")
		own := w.ask(partly, "ns", uuid.NewString(), "asked with the narrow token")
		joined := w.ask(alice, "ns", own.ConversationID, "asked freely, in the same conversation")

		for _, test := range []struct {
			name   string
			caller domain.Caller
			sees   []domain.Question
			not    []domain.Question
		}{
			{"without restriction", alice, []domain.Question{free, apart, own, joined}, nil},
			{"covering the namespace", wholly, []domain.Question{free, own, joined}, []domain.Question{apart}},
			{"covering a dataset", partly, []domain.Question{own}, []domain.Question{free, apart, joined}},
		} {
			for _, run := range test.sees {
				if _, err := w.Run(ctx, test.caller, run.RunID); err != nil {
					t.Errorf("%s: run %q: %v", test.name, run.Text, err)
				}
			}
			for _, run := range test.not {
				if _, err := w.Run(ctx, test.caller, run.RunID); !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("%s: run %q: got %v, want not found", test.name, run.Text, err)
				}
				if err := w.DeleteRun(ctx, test.caller, run.RunID); !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("%s: delete run %q: got %v, want not found", test.name, run.Text, err)
				}
				err := w.finish(test.caller, run.RunID, domain.RunOutcome{Status: domain.RunFailed})
				if !errors.Is(err, domain.ErrNotFound) {
					t.Errorf("%s: finish run %q: got %v, want not found", test.name, run.Text, err)
				}
			}
		}

		mixed := w.ask(alice, "other", uuid.NewString(), "the first question, elsewhere")
		w.ask(wholly, "ns", w.ask(alice, "ns", mixed.ConversationID, "the second, here").ConversationID, "the third, here")
		if title, _, err := w.Conversation(ctx, wholly, mixed.ConversationID, domain.TurnPage{}); err != nil || title != "the second, here" {
			t.Errorf("title for a token that does not cover the first question: %q, %v", title, err)
		}
		w.must(w.RenameConversation(ctx, alice, mixed.ConversationID, "what is elsewhere"))
		if err := w.RenameConversation(ctx, wholly, mixed.ConversationID, "x"); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("rename a conversation: got %v, want forbidden", err)
		}
		if err := w.RenameConversation(ctx, partly, mixed.ConversationID, "x"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("rename a conversation that the token does not cover: got %v, want not found", err)
		}
		list, err := w.Conversations(ctx, wholly, domain.NamespaceRef{})
		w.must(err)
		for _, conversation := range list {
			if strings.Contains(conversation.Title, "elsewhere") {
				t.Errorf("the list tells a title: %q", conversation.Title)
			}
		}

		if got := w.questions(partly, own.ConversationID); got != own.Text {
			t.Errorf("turns for the narrow token: got %q", got)
		}
		if _, _, err := w.Conversation(ctx, partly, free.ConversationID, domain.TurnPage{}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("a conversation the narrow token does not cover: got %v, want not found", err)
		}
		if list, err := w.Conversations(ctx, partly, domain.NamespaceRef{}); err != nil || len(list) != 1 {
			t.Errorf("conversations of the narrow token: got %v, %v", list, err)
		}
		if err := w.DeleteConversation(ctx, partly, own.ConversationID); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("delete a conversation with another's turn: got %v, want forbidden", err)
		}
		_, err = w.tryToAsk(partly, "ns", free.ConversationID, "?")
		if !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("join a conversation that the token does not cover: got %v, want not found", err)
		}

		w.must(w.DeleteToken(ctx, alice, partly.Restriction))
		if got := w.visible(partly); got != "" {
			t.Errorf("a caller whose token has ended sees %q", got)
		}
	})
}
