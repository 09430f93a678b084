package sqlstore_test

import (
	"bytes"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

func TestTokenLife(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx, alice, id := t.Context(), user("alice"), uuid.NewString()
		token := storage.NewToken{
			Token: storage.Token{ID: id, Name: "mine", CreatedAt: time.UnixMilli(1000).UTC(), ExpiresAt: time.UnixMilli(2000).UTC()},
			Hash:  []byte("hash"),
		}
		if err := store.CreateToken(ctx, alice, token); err != nil {
			t.Fatal(err)
		}
		if list, err := store.Tokens(ctx, alice); err != nil || len(list) != 1 || list[0] != token.Token {
			t.Errorf("tokens: got %v, %v", list, err)
		}
		if caller, err := store.TokenCaller(ctx, id, []byte("hash")); err != nil || caller != alice {
			t.Errorf("caller: got %+v, %v", caller, err)
		}
		for name, err := range map[string]error{
			"another text":          func() error { _, err := store.TokenCaller(ctx, id, []byte("other")); return err }(),
			"another id":            func() error { _, err := store.TokenCaller(ctx, uuid.NewString(), []byte("hash")); return err }(),
			"permissions of others": func() error { _, err := store.TokenPermissions(ctx, user("bob"), id); return err }(),
			"deletion by others":    store.DeleteToken(ctx, user("bob"), id),
		} {
			if !errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%s: got %v, want not found", name, err)
			}
		}
		if err := store.DeleteToken(ctx, alice, id); err != nil {
			t.Error(err)
		}
		if _, err := store.TokenCaller(ctx, id, []byte("hash")); !errors.Is(err, storage.ErrNotFound) {
			t.Errorf("an ended token: got %v, want not found", err)
		}
	})
}

func TestSigningKeyIsOne(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		keys := make([][]byte, 8)
		var group sync.WaitGroup
		for i := range keys {
			group.Go(func() {
				key, err := store.SigningKey(t.Context(), storage.KeyForTokens)
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
