package sqlstore_test

import (
	"errors"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// says records what a token of a user said at a time.
func (w world) says(username string, at time.Time, groups ...string) {
	w.t.Helper()
	said := domain.UserClaims{Username: username, IssuedAt: at}
	for _, group := range groups {
		said.Claims = append(said.Claims, domain.UserClaim{Claim: "groups", Value: group, Grantee: domain.GroupPrefix + group})
	}
	w.must(w.SetUserClaims(w.t.Context(), said))
}

func TestGroups(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, start := t.Context(), user("alice"), time.Now().Truncate(time.Millisecond)
		one := dsRef("alice", "ns", "one")
		expect := func(username, datasets, namespaces string) {
			t.Helper()
			if got := w.visible(user(username)); got != datasets {
				t.Errorf("%s's datasets: got %q, want %q", username, got, datasets)
			}
			if got := w.visibleNamespaces(user(username)); got != namespaces {
				t.Errorf("%s's namespaces: got %q, want %q", username, got, namespaces)
			}
		}
		w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: "group:sales", Role: domain.Viewer}))
		w.says("bob", start, "sales", "staff")
		w.says("carol", start, "staff")
		expect("bob", "alice/ns/one", "alice/ns")
		expect("carol", "", "")
		expect("dave", "", "")
		expect("alice", "alice/ns/one alice/ns/two", "alice/ns")
		if got, err := w.DatasetShares(ctx, alice, one); err != nil || len(got) != 1 || got[0].Username != "group:sales" {
			t.Errorf("shares: got %v, %v", got, err)
		}

		// The stronger of all grants counts, whoever has it.
		if err := w.ClearDataset(ctx, user("bob"), one); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("clear as a viewer: got %v, want forbidden", err)
		}
		w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: "bob", Role: domain.Viewer}))
		w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: "group:staff", Role: domain.Editor}))
		w.must(w.ClearDataset(ctx, user("bob"), one))
		w.must(w.ClearDataset(ctx, user("carol"), one))
		w.must(w.RevokeDatasetShare(ctx, alice, one, "group:staff"))
		w.must(w.RevokeDatasetShare(ctx, alice, one, "bob"))
		expect("carol", "", "")
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "group:staff", Role: domain.Viewer}))
		expect("carol", "alice/ns/one alice/ns/two", "alice/ns")
		w.must(w.RevokeNamespaceShare(ctx, alice, nsRef("alice", "ns"), "group:staff"))

		// What the newest token says holds, also where it says nothing.
		w.says("bob", start.Add(-time.Minute), "staff")
		expect("bob", "alice/ns/one", "alice/ns")
		w.says("bob", start.Add(time.Minute))
		expect("bob", "", "")
		w.says("bob", start, "sales")
		w.says("bob", start.Add(time.Minute), "sales") // of the same time, the first counts
		expect("bob", "", "")
		w.says("bob", start.Add(time.Hour), "sales", "sales")
		expect("bob", "alice/ns/one", "alice/ns")

		// A group gives nothing for ever.
		if n, err := w.DeleteOldClaims(ctx, -2*time.Hour); err != nil || n != 2 {
			t.Errorf("delete old claims: got %d, %v, want 2", n, err)
		}
		expect("bob", "", "")
		w.says("bob", start.Add(time.Minute), "sales")
		expect("bob", "", "")

		// A token without groups counts, also if it is the first.
		w.says("erin", start)
		w.says("erin", start.Add(-time.Minute), "sales")
		expect("erin", "", "")
	})
}

// Rules and claims that change while datasets are read never show all rows.
func TestRowRulesThatChange(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, one := t.Context(), user("alice"), dsRef("alice", "ns", "one")
		w.must(w.SetRowRule(ctx, alice, one, domain.RowRule{Username: "group:south", Condition: "false"}))
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "group:south", Role: domain.Editor}))
		w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: "bob", Role: domain.Viewer}))
		done := make(chan error, 1)
		go func() {
			for i := range 100 {
				said := domain.UserClaims{Username: "bob", IssuedAt: time.UnixMilli(int64(i + 1))}
				if i%2 == 0 {
					said.Claims = []domain.UserClaim{{Claim: "groups", Value: "south", Grantee: "group:south"}}
				}
				if err := w.SetUserClaims(ctx, said); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
		for reads := 0; ; reads++ {
			data, err := w.DatasetData(ctx, user("bob"), one)
			w.must(err)
			if data.RowFilter == "" || data.RowCount >= 0 || data.Access.Role != domain.Viewer {
				t.Fatalf("read %d: filter %q, %d rows, %s", reads, data.RowFilter, data.RowCount, data.Access.Role)
			}
			select {
			case err := <-done:
				w.must(err)
				return
			default:
			}
		}
	})
}
