package sqlstore_test

import (
	"errors"
	"testing"

	"parley/storage"
	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

// TestVerifiedQuery finds the query of a question however it is written, for those who see
// the namespace.
func TestVerifiedQuery(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, ns := newWorld(t, store), t.Context(), nsRef("alice", "ns")
		w.create("alice", "other", "one")
		w.must(w.ShareDataset(ctx, user("alice"), dsRef("alice", "ns", "one"), storage.Grant{Username: "bob", Role: storage.Viewer}))
		w.must(w.SaveQuery(ctx, user("alice"), ns, storage.PinnedQuery, storage.SavedQuery{ID: storage.NewID(), Question: "How many cafés?", Query: "SELECT 1"}))
		w.must(w.SaveQuery(ctx, user("alice"), ns, storage.VerifiedQuery, storage.SavedQuery{ID: storage.NewID(), Question: "How many  Cafés are there?", Query: "SELECT 2"}))
		for _, test := range []struct {
			caller, namespace, question, want string
		}{
			{"alice", "ns", "How many Cafés are there?", "SELECT 2"},
			{"bob", "NS", " how many\ncafe\u0301s are there ?! ", "SELECT 2"},
			{"alice", "ns", "How many Cafés?", ""},
			{"alice", "ns", "How many Cafés are there? Two", ""},
			{"alice", "other", "How many Cafés are there?", ""},
			{"eve", "ns", "How many Cafés are there?", ""},
		} {
			got, err := w.VerifiedQuery(ctx, user(test.caller), nsRef("alice", test.namespace), test.question)
			if got != test.want || (test.want == "") != errors.Is(err, storage.ErrNotFound) {
				t.Errorf("%+v: %q, %v", test, got, err)
			}
		}
	})
}
