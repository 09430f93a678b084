package sqlstore_test

import (
	"errors"
	"testing"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// TestVerifiedQuery finds the query of a question however it is written, for those who see
// it in their list.
func TestVerifiedQuery(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, ns := newWorld(t, store), t.Context(), nsRef("alice", "ns")
		w.create("alice", "other", "one")
		w.must(w.ShareDataset(ctx, user("alice"), dsRef("alice", "ns", "one"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		datasets := func(caller string) (ids []string) {
			all, err := w.NamespaceData(ctx, user(caller), ns)
			w.must(err)
			for _, d := range all {
				ids = append(ids, d.ID)
			}
			return ids
		}
		w.must(w.SaveQuery(ctx, user("alice"), ns, domain.PinnedQuery, domain.SavedQuery{ID: domain.NewID(), Question: "How many cafés?", Query: "SELECT 1"}))
		w.must(w.SaveQuery(ctx, user("alice"), ns, domain.VerifiedQuery, domain.SavedQuery{ID: domain.NewID(), Question: "How many  Cafés are there?", Query: "SELECT 2", Datasets: datasets("bob")}))
		w.must(w.SaveQuery(ctx, user("alice"), ns, domain.VerifiedQuery, domain.SavedQuery{ID: domain.NewID(), Question: "How many shops?", Query: "SELECT 3", Datasets: datasets("alice")}))
		w.must(w.SaveQuery(ctx, user("alice"), ns, domain.VerifiedQuery, domain.SavedQuery{ID: domain.NewID(), Question: "How many managers?", Query: "SELECT 4"}))
		for _, test := range []struct {
			caller, namespace, question, want string
		}{
			{"alice", "ns", "How many Cafés are there?", "SELECT 2"},
			{"bob", "NS", " how many\ncafe\u0301s are there ?! ", "SELECT 2"},
			{"alice", "ns", "How many shops?", "SELECT 3"},
			{"bob", "ns", "How many shops?", ""}, // it also reads another dataset
			{"alice", "ns", "How many managers?", "SELECT 4"},
			{"bob", "ns", "How many managers?", ""}, // it reads no dataset
			{"alice", "ns", "How many Cafés?", ""},
			{"alice", "ns", "How many Cafés are there? Two", ""},
			{"alice", "other", "How many Cafés are there?", ""},
			{"eve", "ns", "How many Cafés are there?", ""},
		} {
			got, err := w.VerifiedQuery(ctx, user(test.caller), nsRef("alice", test.namespace), test.question)
			if got.Query != test.want || (test.want == "") != errors.Is(err, domain.ErrNotFound) {
				t.Errorf("%+v: %q, %v", test, got.Query, err)
			}
		}
	})
}

// TestSharableRun refuses a run whose conversation has an attachment, whichever run brought
// it.
func TestSharableRun(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx, alice := newWorld(t, store), t.Context(), user("alice")
		question := domain.Question{Agent: "nl2ql", ConversationID: uuid.NewString(), Namespace: nsRef("alice", "ns"), Text: "How many?"}
		run, err := sqlstoretest.Ask(ctx, w, alice, question)
		w.must(err)
		if _, err := w.SharableRun(ctx, alice, run.RunID); !errors.Is(err, domain.ErrRunNotCompleted) {
			t.Errorf("one that runs: %v", err)
		}
		w.must(sqlstoretest.Finish(ctx, w, alice, run.RunID, domain.RunOutcome{Status: domain.RunCompleted, Result: []byte(`{}`)}))
		if in, err := w.SharableRun(ctx, alice, run.RunID); err != nil || in != nsRef("alice", "ns") {
			t.Errorf("%v, %v", in, err)
		}
		w.attach(alice, question.ConversationID, "sales")
		if _, err := w.SharableRun(ctx, alice, run.RunID); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("with an attachment: %v", err)
		}
		if _, err := w.ShareRun(ctx, alice, run.RunID, nil, nil); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("with an attachment: %v", err)
		}
	})
}
