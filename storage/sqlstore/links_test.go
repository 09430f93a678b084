package sqlstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// linked returns the world three datasets with the columns id and name.
func linked(t *testing.T, store *sqlstore.Store) world {
	t.Helper()
	w := newWorld(t, store)
	w.create("alice", "ns", "three")
	for _, name := range []string{"one", "two", "three"} {
		w.setColumns(name, twoColumns)
	}
	return w
}

// setColumns gives alice's dataset a version without rows.
func (w world) setColumns(name string, columns []domain.Column) {
	w.t.Helper()
	data, err := w.DatasetData(w.t.Context(), user("alice"), dsRef("alice", "ns", name))
	w.must(err)
	w.must(w.CommitVersion(w.t.Context(), domain.VersionChange{Caller: user("alice"), DatasetID: data.ID, Columns: columns, Replace: true}))
}

// links lists the links that a caller may see, as "from(columns)>to(columns)label".
func (w world) links(caller domain.Caller) string {
	w.t.Helper()
	links, err := w.NamespaceLinks(w.t.Context(), caller, nsRef("alice", "ns"))
	w.must(err)
	var all []string
	for _, l := range links {
		all = append(all, fmt.Sprintf("%s(%s)>%s(%s)%s", l.From, strings.Join(l.Columns, ","), l.To, strings.Join(l.ToColumns, ","), l.Label))
	}
	return strings.Join(all, " ")
}

func link(columns []string, to string, toColumns ...string) domain.Link {
	return domain.Link{Columns: columns, To: to, ToColumns: toColumns}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := linked(t, store)
		ctx, alice, one := t.Context(), user("alice"), dsRef("alice", "ns", "one")
		expect := func(what, want string) {
			t.Helper()
			if got := w.links(alice); got != want {
				t.Errorf("%s: got %q, want %q", what, got, want)
			}
		}
		expect("none", "")
		labelled := link([]string{"ID", "name"}, "THREE", "id", "Name")
		labelled.Label = "it's mine"
		w.must(w.SetLinks(ctx, alice, one, []domain.Link{link([]string{"id"}, "two", "id"), labelled, link([]string{"name"}, "one", "id")}))
		expect("three", "one(id)>two(id) one(ID,name)>three(id,Name)it's mine one(name)>one(id)")
		w.must(w.RenameDataset(ctx, alice, dsRef("alice", "ns", "two"), "second"))
		w.setColumns("three", oneColumn)
		expect("renamed", "one(id)>second(id) one(ID,name)>three(id,Name)it's mine one(name)>one(id)")

		for _, wrong := range []struct {
			link  domain.Link
			field string
		}{
			{link([]string{"id"}, "two", "id"), "links[1].dataset"},
			{link([]string{"none"}, "second", "id"), "links[1].columns"},
			{link([]string{"id"}, "second", "none"), "links[1].toColumns"},
		} {
			var known *domain.Error
			err := w.SetLinks(ctx, alice, one, []domain.Link{link([]string{"id"}, "second", "id"), wrong.link})
			if !errors.As(err, &known) || !errors.Is(err, domain.ErrInvalid) || len(known.Fields) != 1 || known.Fields[0].Field != wrong.field {
				t.Errorf("%+v: %v", wrong.link, err)
			}
		}
		expect("after refusals", "one(id)>second(id) one(ID,name)>three(id,Name)it's mine one(name)>one(id)")

		w.must(w.DeleteDataset(ctx, alice, dsRef("alice", "ns", "second")))
		expect("a target deleted", "one(ID,name)>three(id,Name)it's mine one(name)>one(id)")
		w.must(w.SetLinks(ctx, alice, dsRef("alice", "ns", "three"), []domain.Link{link([]string{"id"}, "one", "id")}))
		w.must(w.DeleteDataset(ctx, alice, one))
		expect("both sides deleted", "")
		var left int
		w.must(w.GetContext(ctx, &left, `SELECT count(*) FROM dataset_links`))
		if left != 0 {
			t.Errorf("%d links are left", left)
		}
	})
}

// What a caller may not read is in no link, and stays when the caller replaces the others.
func TestLinksToHiddenDatasets(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := linked(t, store)
		ctx, alice, bob, one := t.Context(), user("alice"), user("bob"), dsRef("alice", "ns", "one")
		w.must(w.SetLinks(ctx, alice, one, []domain.Link{link([]string{"id"}, "two", "id"), link([]string{"id"}, "three", "id")}))
		w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: "bob", Role: domain.Editor}))
		w.must(w.ShareDataset(ctx, alice, dsRef("alice", "ns", "three"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		w.must(w.ShareDataset(ctx, alice, dsRef("alice", "ns", "two"), domain.Grant{Username: "eve", Role: domain.Viewer}))
		token := w.restricted("alice", domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "one"}, domain.Scope{Owner: "alice", Namespace: "ns", Dataset: "two"})
		for name, test := range map[string]struct {
			caller domain.Caller
			want   string
		}{
			"a token for the first": {token, "one(id)>two(id)"},
			"bob":                   {bob, "one(id)>three(id)"},
			"eve":                   {user("eve"), ""},
		} {
			if got := w.links(test.caller); got != test.want {
				t.Errorf("%s sees %q", name, got)
			}
		}
		if err := w.SetLinks(ctx, bob, one, []domain.Link{link([]string{"id"}, "two", "id")}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("a link to a dataset that bob may not read: %v", err)
		}
		if err := w.SetLinks(ctx, bob, dsRef("alice", "ns", "three"), nil); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("links of a dataset that bob may only read: %v", err)
		}
		w.must(w.SetLinks(ctx, bob, one, []domain.Link{link([]string{"name"}, "three", "name")}))
		if got, want := w.links(alice), "one(id)>two(id) one(name)>three(name)"; got != want {
			t.Errorf("alice sees %q, want %q", got, want)
		}
	})
}
