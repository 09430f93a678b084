package sqlstore_test

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

func newWebSession(owner string, expires time.Time) domain.WebSession {
	session := domain.WebSession{Owner: owner, Secrets: []byte("secret"), RefreshAt: time.UnixMilli(5000).UTC()}
	session.ID, session.Name, session.Access, session.Hash = uuid.NewString(), "a browser", domain.WriteAccess, []byte("hash")
	session.CreatedAt, session.ExpiresAt = time.UnixMilli(1000).UTC(), expires.UTC().Truncate(time.Millisecond)
	return session
}

func TestWebSessions(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx, w := t.Context(), world{store, t}
		session, expired := newWebSession("alice", time.Now().Add(time.Hour)), newWebSession("alice", time.Now().Add(-time.Second))
		w.must(store.CreateWebSession(ctx, expired))
		w.must(store.CreateWebSession(ctx, session))
		read, err := store.WebSession(ctx, session.ID, session.Hash)
		if err != nil || read.Owner != "alice" || !read.RefreshAt.Equal(session.RefreshAt) || !read.ExpiresAt.Equal(session.ExpiresAt) || !bytes.Equal(read.Secrets, session.Secrets) {
			t.Errorf("read %+v, %v", read, err)
		}
		if tokens, err := store.Tokens(ctx, user("alice")); err != nil || len(tokens) != 1 || tokens[0].ID != session.ID {
			t.Errorf("tokens: %+v, %v", tokens, err)
		}

		var claims atomic.Int32
		claim := read
		var group sync.WaitGroup
		for range 8 {
			group.Go(func() {
				mine := read
				if claimed, err := store.ClaimRefresh(ctx, &mine, time.Minute); err != nil {
					t.Error(err)
				} else if claimed {
					claims.Add(1)
					claim = mine
				}
			})
		}
		group.Wait()
		if claims.Load() != 1 {
			t.Errorf("%d claims", claims.Load())
		}
		for name, late := range map[string]func(context.Context, domain.WebSession) error{"refresh": store.RefreshWebSession, "end": store.EndWebSession} {
			if err := late(ctx, read); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s with the claim of another process: %v", name, err)
			}
		}
		if read, err := store.WebSession(ctx, session.ID, session.Hash); err != nil || !read.RefreshingUntil.Equal(claim.RefreshingUntil) {
			t.Errorf("claimed: %+v, %v", read, err)
		}
		next := claim
		next.Secrets, next.RefreshAt = []byte("newer"), time.UnixMilli(9000).UTC()
		w.must(store.RefreshWebSession(ctx, next))
		for _, test := range []struct {
			what    string
			session domain.WebSession
			lease   time.Duration
			want    bool
		}{
			{"as it was before", read, time.Minute, false},
			{"as it is", next, -time.Second, true},
			{"after the claim has expired", next, time.Minute, true},
		} {
			next = test.session
			if claimed, err := store.ClaimRefresh(ctx, &next, test.lease); claimed != test.want || err != nil {
				t.Errorf("claimed %s: %v, %v", test.what, claimed, err)
			}
		}
		next.RetryAt = time.Now().Add(time.Minute)
		w.must(store.RefreshWebSession(ctx, next))
		if claimed, err := store.ClaimRefresh(ctx, &next, time.Minute); claimed || err != nil {
			t.Errorf("claimed before the time to retry: %v, %v", claimed, err)
		}
		read, err = store.WebSession(ctx, session.ID, session.Hash)
		w.must(err)
		w.must(store.EndWebSession(ctx, read))

		w.must(store.CreateWebSession(ctx, session))
		w.must(store.DeleteToken(ctx, user("alice"), session.ID))
		for name, found := range map[string]func() error{
			"revoked":      func() error { _, err := store.WebSession(ctx, session.ID, session.Hash); return err },
			"another text": func() error { _, err := store.WebSession(ctx, session.ID, []byte("other")); return err },
			"expired":      func() error { _, err := store.WebSession(ctx, expired.ID, expired.Hash); return err },
			"refreshed":    func() error { return store.RefreshWebSession(ctx, next) },
		} {
			if err := found(); !errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestWebSessionsOfAUser signs a user in more often than there are sessions.
func TestWebSessionsOfAUser(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		ctx, w := t.Context(), world{store, t}
		var all []domain.WebSession
		for i := range 23 {
			session := newWebSession("alice", time.Now().Add(time.Hour))
			session.CreatedAt = time.UnixMilli(int64(1000 + i)).UTC()
			session.Hash = []byte(session.ID)
			w.must(store.CreateWebSession(ctx, session))
			all = append(all, session)
		}
		other := newWebSession("bob", time.Now().Add(time.Hour))
		other.Hash = []byte(other.ID)
		w.must(store.CreateWebSession(ctx, other))
		for i, session := range all {
			if _, err := store.WebSession(ctx, session.ID, session.Hash); errors.Is(err, domain.ErrNotFound) != (i < 3) {
				t.Errorf("session %d: %v", i, err)
			}
		}
	})
}
