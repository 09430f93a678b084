package sqlstore_test

import (
	"errors"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// TestEndOwnShare lets bob end what was shared with him, and nothing else.
func TestEndOwnShare(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, bob := t.Context(), user("alice"), user("bob")
		ns, one := domain.NamespaceRef{Owner: "alice", Name: "ns"}, dsRef("alice", "ns", "one")
		for _, name := range []string{"bob", "carol"} {
			w.must(w.ShareNamespace(ctx, alice, ns, domain.Grant{Username: name, Role: domain.Editor}))
			w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: name, Role: domain.Viewer}))
		}
		if err := w.RevokeNamespaceShare(ctx, bob, ns, "carol"); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("carol's: %v", err)
		}
		if err := w.RevokeNamespaceShare(ctx, user("dave"), ns, "dave"); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("one without a share: %v", err)
		}
		w.must(w.RevokeNamespaceShare(ctx, bob, ns, "bob"))
		w.must(w.RevokeDatasetShare(ctx, bob, one, "bob"))
		if _, err := w.Dataset(ctx, bob, one); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("after the end: %v", err)
		}
		if _, err := w.Dataset(ctx, user("carol"), one); err != nil {
			t.Errorf("carol: %v", err)
		}
	})
}
