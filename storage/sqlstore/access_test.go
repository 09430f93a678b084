package sqlstore_test

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// world is the store's state that the access tests start from: alice owns
// namespace ns with datasets one and two.
type world struct {
	*sqlstore.Store
	t testing.TB
}

func newWorld(t testing.TB, store *sqlstore.Store) world {
	t.Helper()
	w := world{store, t}
	w.create("alice", "ns", "one")
	w.create("alice", "ns", "two")
	return w
}

func user(name string) domain.Caller { return domain.Caller{Username: name} }

func nsRef(owner, name string) domain.NamespaceRef {
	return domain.NamespaceRef{Owner: owner, Name: name}
}

func dsRef(owner, namespace, name string) domain.DatasetRef {
	return domain.DatasetRef{Owner: owner, Namespace: namespace, Name: name}
}

func (w world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w world) create(owner, namespace, name string) {
	w.t.Helper()
	w.must(w.CreateDataset(w.t.Context(), user(owner), namespace, name, domain.Definition{}))
}

// visible lists what a caller may read as "owner/namespace/dataset".
func (w world) visible(caller domain.Caller) string {
	w.t.Helper()
	datasets, err := w.Datasets(w.t.Context(), caller)
	w.must(err)
	var names []string
	for _, d := range datasets {
		names = append(names, d.Owner+"/"+d.Namespace+"/"+d.Name)
	}
	return strings.Join(names, " ")
}

func (w world) visibleNamespaces(caller domain.Caller) string {
	w.t.Helper()
	namespaces, err := w.Namespaces(w.t.Context(), caller, "")
	w.must(err)
	var names []string
	for _, n := range namespaces {
		names = append(names, n.Owner+"/"+n.Name)
	}
	return strings.Join(names, " ")
}

// doings is everything that can be done to alice's dataset one, or to its
// namespace, with the kind of failure that a viewer, an editor and a stranger
// meet; nil where they may.
func doings(w world, caller domain.Caller) map[string]func() error {
	ctx := w.t.Context()
	one, ns := dsRef("alice", "ns", "one"), nsRef("alice", "ns")
	words := "words"
	return map[string]func() error{
		"read dataset":     func() error { _, err := w.Dataset(ctx, caller, one); return err },
		"list namespace":   func() error { _, err := w.NamespaceDatasets(ctx, caller, ns); return err },
		"read links":       func() error { _, err := w.NamespaceLinks(ctx, caller, ns); return err },
		"set links":        func() error { return w.SetLinks(ctx, caller, one, nil) },
		"clear":            func() error { return w.ClearDataset(ctx, caller, one) },
		"rename dataset":   func() error { return w.RenameDataset(ctx, caller, one, "one") },
		"delete dataset":   func() error { return w.DeleteDataset(ctx, caller, one) },
		"rename namespace": func() error { return w.RenameNamespace(ctx, caller, ns, "ns") },
		"delete namespace": func() error { return w.DeleteNamespace(ctx, caller, ns, true) },
		"dataset shares":   func() error { _, err := w.DatasetShares(ctx, caller, one); return err },
		"share dataset": func() error {
			return w.ShareDataset(ctx, caller, one, domain.Grant{Username: "eve", Role: domain.Viewer})
		},
		"revoke dataset":   func() error { return w.RevokeDatasetShare(ctx, caller, one, "eve") },
		"namespace shares": func() error { _, err := w.NamespaceShares(ctx, caller, ns); return err },
		"share namespace": func() error {
			return w.ShareNamespace(ctx, caller, ns, domain.Grant{Username: "eve", Role: domain.Viewer})
		},
		"revoke namespace": func() error { return w.RevokeNamespaceShare(ctx, caller, ns, "eve") },
		"update definition": func() error {
			return w.UpdateDefinition(ctx, caller, one, domain.DefinitionPatch{
				Definition: domain.Definition{Description: &words}, SetDescription: true})
		},
	}
}

func TestAccessByRole(t *testing.T) {
	t.Parallel()
	var (
		forbidden = domain.ErrForbidden
		missing   = domain.ErrNotFound
	)
	kinds := map[string]struct{ stranger, viewer, editor, owner error }{
		"read dataset":      {missing, nil, nil, nil},
		"list namespace":    {missing, nil, nil, nil},
		"read links":        {missing, nil, nil, nil},
		"set links":         {missing, forbidden, nil, nil},
		"clear":             {missing, forbidden, nil, nil},
		"rename dataset":    {missing, forbidden, nil, nil},
		"update definition": {missing, missing, nil, nil},
		"delete dataset":    {missing, forbidden, forbidden, nil},
		"rename namespace":  {missing, forbidden, forbidden, nil},
		"delete namespace":  {missing, forbidden, forbidden, nil},
		"dataset shares":    {missing, forbidden, forbidden, nil},
		"share dataset":     {missing, forbidden, forbidden, nil},
		"revoke dataset":    {missing, forbidden, forbidden, missing},
		"namespace shares":  {missing, forbidden, forbidden, nil},
		"share namespace":   {missing, forbidden, forbidden, nil},
		"revoke namespace":  {missing, forbidden, forbidden, missing},
	}
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		for on, share := range map[string]func(domain.Grant) error{
			"namespace": func(g domain.Grant) error {
				return w.ShareNamespace(t.Context(), user("alice"), nsRef("alice", "ns"), g)
			},
			"dataset": func(g domain.Grant) error {
				return w.ShareDataset(t.Context(), user("alice"), dsRef("alice", "ns", "one"), g)
			},
		} {
			w.must(share(domain.Grant{Username: on + "-viewer", Role: domain.Viewer}))
			w.must(share(domain.Grant{Username: on + "-editor", Role: domain.Editor}))
		}
		check := func(name, doing string, want error) {
			t.Helper()
			if err := doings(w, user(name))[doing](); !errors.Is(err, want) || (err == nil) != (want == nil) {
				t.Errorf("%s, %s: got %v, want %v", name, doing, err, want)
			}
		}
		for doing, want := range kinds {
			check("stranger", doing, want.stranger)
			check("namespace-viewer", doing, want.viewer)
			check("dataset-viewer", doing, want.viewer)
			check("namespace-editor", doing, want.editor)
			if doing == "rename dataset" { // a name that is taken may be a hidden one
				want.editor = forbidden
			}
			check("dataset-editor", doing, want.editor)
		}
		for doing, want := range kinds {
			if !strings.HasPrefix(doing, "delete") && !strings.HasPrefix(doing, "revoke") {
				check("alice", doing, want.owner)
			}
		}
		check("alice", "revoke dataset", nil)
		check("alice", "revoke dataset", kinds["revoke dataset"].owner)
		check("alice", "revoke namespace", nil)
		check("alice", "revoke namespace", kinds["revoke namespace"].owner)
		check("alice", "delete dataset", nil)
		check("alice", "delete namespace", nil)
	})
}

func TestAccessLists(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		w.create("bob", "Own", "mine")

		expect := func(caller domain.Caller, datasets, namespaces string) {
			t.Helper()
			if got := w.visible(caller); got != datasets {
				t.Errorf("datasets of %+v: got %q, want %q", caller, got, datasets)
			}
			if got := w.visibleNamespaces(caller); got != namespaces {
				t.Errorf("namespaces of %+v: got %q, want %q", caller, got, namespaces)
			}
		}
		expect(alice, "alice/ns/one alice/ns/two", "alice/ns")
		expect(user("bob"), "bob/Own/mine", "bob/Own")
		expect(user("carol"), "", "")

		w.must(w.ShareDataset(ctx, alice, dsRef("alice", "NS", "ONE"), domain.Grant{Username: "bob", Role: domain.Viewer}))
		expect(user("bob"), "alice/ns/one bob/Own/mine", "alice/ns bob/Own")

		// The stronger of two grants counts, and a namespace grant covers what
		// comes later.
		w.must(w.ShareNamespace(ctx, alice, nsRef("alice", "ns"), domain.Grant{Username: "bob", Role: domain.Editor}))
		w.create("alice", "ns", "three")
		expect(user("bob"), "alice/ns/one alice/ns/three alice/ns/two bob/Own/mine", "alice/ns bob/Own")
		w.must(w.ClearDataset(ctx, user("bob"), dsRef("alice", "ns", "one")))

		w.must(w.RevokeNamespaceShare(ctx, alice, nsRef("alice", "ns"), "bob"))
		expect(user("bob"), "alice/ns/one bob/Own/mine", "alice/ns bob/Own")
		if err := w.ClearDataset(ctx, user("bob"), dsRef("alice", "ns", "one")); !errors.Is(err, domain.ErrForbidden) {
			t.Errorf("clear after the stronger grant went: got %v, want forbidden", err)
		}

		if got, err := w.Namespaces(ctx, user("bob"), "alice"); err != nil || len(got) != 1 || got[0].Name != "ns" {
			t.Errorf("alice's namespaces for bob: got %v, %v", got, err)
		}
	})
}

// TestStatementsOutsideAccess lists, in a golden file, which tables are named
// outside of access.go, and how. A line that is new there is a statement to look
// at: does it act for a caller? Then it must go through a fragment of access.go,
// or by the id of a row that was found through one in the same transaction.
func TestStatementsOutsideAccess(t *testing.T) {
	t.Parallel()
	migrations, err := filepath.Glob("migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for _, migration := range migrations {
		schema, err := os.ReadFile(migration)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(`CREATE TABLE (\w+)`).FindAllStringSubmatch(string(schema), -1) {
			tables = append(tables, match[1])
		}
	}
	if len(tables) < 15 {
		t.Fatalf("only %d tables: %v", len(tables), tables)
	}
	named := regexp.MustCompile(`(?i)(\w+)(?:\s+INTO|\s+FROM)?\s+(` + strings.Join(tables, "|") + `)\b(?:\s+(?:AS\s+)?\w\b)?`)
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, file := range files {
		if file == "access.go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, literal := range regexp.MustCompile("(?s)`[^`]*`").FindAllString(string(source), -1) {
			for _, match := range named.FindAllString(literal, -1) {
				line := file + ": " + strings.Join(strings.Fields(match), " ")
				if !slices.Contains(found, line) {
					found = append(found, line)
				}
			}
		}
	}
	slices.Sort(found)
	golden.Assert(t, "statements.txt", []byte(strings.Join(found, "\n")+"\n"))
}
