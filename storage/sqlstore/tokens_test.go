package sqlstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

func TestTokenLife(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx, alice, id := t.Context(), user("alice"), uuid.NewString()
		token := domain.NewToken{
			Token: domain.Token{ID: id, Name: "mine", Access: domain.WriteAccess, CreatedAt: time.UnixMilli(1000).UTC(), ExpiresAt: time.UnixMilli(2000).UTC()},
			Hash:  []byte("hash"),
		}
		if err := store.CreateToken(ctx, alice, token); err != nil {
			t.Fatal(err)
		}
		if list, err := store.Tokens(ctx, alice); err != nil || len(list) != 1 || !reflect.DeepEqual(list[0], token.Token) {
			t.Errorf("tokens: got %v, %v", list, err)
		}
		if caller, err := store.TokenCaller(ctx, id, []byte("hash")); err != nil || caller != alice {
			t.Errorf("caller: got %+v, %v", caller, err)
		}
		for name, err := range map[string]error{
			"another text":       func() error { _, err := store.TokenCaller(ctx, id, []byte("other")); return err }(),
			"another id":         func() error { _, err := store.TokenCaller(ctx, uuid.NewString(), []byte("hash")); return err }(),
			"a token of others":  func() error { _, err := store.Token(ctx, user("bob"), id); return err }(),
			"deletion by others": store.DeleteToken(ctx, user("bob"), id),
		} {
			if !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: got %v, want not found", name, err)
			}
		}
		if err := store.DeleteToken(ctx, alice, id); err != nil {
			t.Error(err)
		}
		if _, err := store.TokenCaller(ctx, id, []byte("hash")); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("an ended token: got %v, want not found", err)
		}
	})
}

func TestTooManyTokens(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := world{store, t}
		for range domain.MaxTokens {
			w.must(w.CreateToken(t.Context(), user("alice"), newToken(domain.ReadAccess)))
		}
		if err := w.CreateToken(t.Context(), user("alice"), newToken(domain.ReadAccess)); !errors.Is(err, domain.ErrTooMany) {
			t.Errorf("one more: %v", err)
		}
		w.must(w.CreateToken(t.Context(), user("bob"), newToken(domain.ReadAccess)))
	})
}

func TestRevokedTokens(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := world{store, t}
		var ids, revoked []string
		for i := range 250 {
			token := newToken(domain.ReadAccess)
			if ids = append(ids, token.ID); i%100 == 7 {
				revoked = append(revoked, token.ID)
				continue
			}
			w.must(w.CreateToken(t.Context(), user(fmt.Sprint("user", i%3)), token))
		}
		got, err := w.RevokedTokens(t.Context(), ids)
		slices.Sort(got)
		slices.Sort(revoked)
		if err != nil || !slices.Equal(got, revoked) {
			t.Errorf("got %v, %v, want %v", got, err, revoked)
		}
	})
}

// TestTokensOfOlderVersions migrates tokens that go by names, and has an older
// program create one beside.
func TestTokensOfOlderVersions(t *testing.T) {
	t.Parallel()
	for name, cfg := range databases(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx := t.Context()
			w := world{open(t, cfg), t}
			w.must(w.MigrateTo(ctx, 4))
			create := func(id string, scopes ...domain.Scope) domain.Caller {
				w.must(w.Exec(ctx, `
INSERT INTO tokens (id, owner, name, hash, restricted, created_at, expires_at)
VALUES ($1, 'alice', 'old', 'ab', TRUE, 1, 2)`, id))
				for i, scope := range scopes {
					w.must(w.Exec(ctx, `
INSERT INTO token_scopes (token_id, position, owner, namespace, dataset)
VALUES ($1, $2, $3, $4, $5)`, id, i, scope.Owner, scope.Namespace, scope.Dataset))
				}
				return domain.Caller{Username: "alice", Restriction: id}
			}
			for id, namespace := range map[string]string{"n1": "ns", "n2": "other"} {
				w.must(w.Exec(ctx, `INSERT INTO namespaces (id, owner, name, created_at) VALUES ($1, 'alice', $2, 1)`, id, namespace))
			}
			for id, at := range map[string][2]string{"d1": {"n1", "one"}, "d2": {"n1", "two"}, "d3": {"n2", "one"}} {
				w.must(w.Exec(ctx, `
INSERT INTO datasets (id, namespace_id, name, version, created_at, updated_at)
VALUES ($1, $2, $3, 1, 1, 1)`, id, at[0], at[1]))
				w.must(w.Exec(ctx, `
INSERT INTO dataset_versions (dataset_id, version, columns, row_count, byte_count, created_at)
VALUES ($1, 1, '[]', 0, 0, 1)`, id))
			}
			whole := create("t1", domain.Scope{Owner: "alice", Namespace: "NS"})
			single := create("t2", domain.Scope{Owner: "alice", Namespace: "other", Dataset: "ONE"}, domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "Two"})
			gone := create("t3", domain.Scope{Owner: "alice", Namespace: "none"}, domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "three"})
			w.must(w.Migrate(ctx))
			beside := create("t4", domain.Scope{Owner: "alice", Namespace: "ns"})
			w.create("alice", "none", "one")
			w.create("alice", "ns", "three")

			for _, test := range []struct {
				caller domain.Caller
				want   string
			}{
				{whole, "alice/ns/one alice/ns/three alice/ns/two"},
				{single, "alice/ns/two alice/other/one"},
				{gone, ""},
				{beside, ""},
			} {
				if got := w.visible(test.caller); got != test.want {
					t.Errorf("token %s sees %q, want %q", test.caller.Restriction, got, test.want)
				}
			}
			// They were not created with write access.
			err := w.ClearDataset(ctx, single, dsRef("alice", "ns", "two"))
			if !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("clear: got %v, want forbidden", err)
			}
			err = w.ShareNamespace(ctx, whole, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Viewer})
			if !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("share: got %v, want forbidden", err)
			}
		})
	}
}

func TestSigningKeyIsOne(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		keys := make([][]byte, 8)
		var group sync.WaitGroup
		for i := range keys {
			group.Go(func() {
				key, err := store.SigningKey(t.Context(), domain.KeyForTokens)
				if err != nil {
					t.Error(err)
				}
				keys[i] = key
			})
		}
		group.Wait()
		for _, key := range keys {
			if len(key) != 32 || !bytes.Equal(key, keys[0]) {
				t.Fatalf("keys differ: %x and %x", keys[0], key)
			}
		}
	})
}
