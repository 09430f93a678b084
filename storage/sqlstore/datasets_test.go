package sqlstore_test

import (
	"errors"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

func ptr[T any](v T) *T { return &v }

func TestDatasetLife(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice := t.Context(), user("alice")
		if err := w.CreateDataset(ctx, alice, "NS", "ONE", domain.Definition{}); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("create what exists under another case: got %v, want conflict", err)
		}
		w.must(w.CreateDataset(ctx, alice, "NS", "Three", domain.Definition{
			Description: ptr("What we sold"), Schema: map[string]string{"total": "in euros"}}))

		d, err := w.Dataset(ctx, alice, dsRef("alice", "nS", "tHREE"))
		w.must(err)
		if d.Namespace != "ns" || d.Name != "Three" || *d.Definition.Description != "What we sold" || d.Definition.Schema["total"] != "in euros" {
			t.Errorf("dataset: %+v", d)
		}

		if err := w.RenameDataset(ctx, alice, dsRef("alice", "ns", "three"), "One"); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("rename to a taken name: got %v, want conflict", err)
		}
		w.must(w.RenameDataset(ctx, alice, dsRef("alice", "ns", "three"), "THREE"))
		w.must(w.ClearDataset(ctx, alice, dsRef("alice", "ns", "three")))
		d, err = w.Dataset(ctx, alice, dsRef("alice", "ns", "three"))
		w.must(err)
		if d.Name != "THREE" || d.RowCount != 0 || *d.Definition.Description != "What we sold" {
			t.Errorf("dataset after rename and clear: %+v", d)
		}

		if err := w.DeleteNamespace(ctx, alice, nsRef("alice", "ns"), false); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("delete a namespace with datasets: got %v, want conflict", err)
		}
		w.create("alice", "second", "x")
		if err := w.RenameNamespace(ctx, alice, nsRef("alice", "second"), "NS"); !errors.Is(err, domain.ErrConflict) {
			t.Errorf("rename to a taken namespace: got %v, want conflict", err)
		}
		w.must(w.DeleteDataset(ctx, alice, dsRef("alice", "second", "x")))
		if got := w.visibleNamespaces(alice); got != "alice/ns alice/second" {
			t.Errorf("a namespace stays without datasets: got %q", got)
		}
		w.must(w.DeleteNamespace(ctx, alice, nsRef("alice", "second"), false))
		w.must(w.DeleteNamespace(ctx, alice, nsRef("alice", "ns"), true))
		if got := w.visibleNamespaces(alice); got != "" {
			t.Errorf("after deleting all: got %q", got)
		}
	})
}

// TestDescribedDatasets gives as many datasets as fit, with what their reader may do.
func TestDescribedDatasets(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w, ctx := newWorld(t, store), t.Context()
		description := strings.Repeat("é", 500)
		w.must(w.UpdateDefinition(ctx, user("alice"), dsRef("alice", "ns", "one"), domain.DefinitionPatch{
			Definition: domain.Definition{Description: &description, Schema: map[string]string{"n": "A number"}}, SetDescription: true, SetSchema: true}))
		w.must(w.ShareDataset(ctx, user("alice"), dsRef("alice", "ns", "one"), domain.Grant{Username: "bob", Role: domain.Editor}))
		reading := w.readOnly("alice", domain.Scope{Owner: "alice", Namespace: "ns"})
		for _, test := range []struct {
			caller   domain.Caller
			maxBytes int
			want     string
		}{
			{user("alice"), 1 << 20, "one:owner two:owner"},
			{reading, 1 << 20, "one:viewer two:viewer"},
			{user("bob"), 1 << 20, "one:editor"},
			{user("eve"), 1 << 20, ""},
			{user("alice"), 1000, ""},
			{user("alice"), 1030, "one:owner two:owner"},
		} {
			list, err := w.DescribedDatasets(ctx, test.caller, nsRef("alice", "NS"), test.maxBytes)
			w.must(err)
			var got []string
			for _, d := range list {
				got = append(got, d.Name+":"+string(d.Access.Strongest()))
				alone, err := w.Dataset(ctx, test.caller, dsRef(d.Owner, d.Namespace, d.Name))
				if err != nil || !reflect.DeepEqual(d, alone) {
					t.Errorf("%+v, alone %+v, %v", d, alone, err)
				}
			}
			slices.Sort(got)
			if got := strings.Join(got, " "); got != test.want {
				t.Errorf("%+v with %d bytes: %q, want %q", test.caller, test.maxBytes, got, test.want)
			}
		}
	})
}

func TestGrantsGoWithTheirDataset(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, one := t.Context(), user("alice"), dsRef("alice", "ns", "one")
		w.must(w.ShareDataset(ctx, alice, one, domain.Grant{Username: "bob", Role: domain.Editor}))
		w.must(w.DeleteDataset(ctx, alice, one))
		w.create("alice", "ns", "one")
		if got := w.visible(user("bob")); got != "" {
			t.Errorf("a grant outlived its dataset: bob sees %q", got)
		}
	})
}

func TestUpdateDefinitionKeepsWhatIsNotSet(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		w := newWorld(t, store)
		ctx, alice, one := t.Context(), user("alice"), dsRef("alice", "ns", "one")
		description, schema := ptr("text"), map[string]string{"a": "b"}
		for _, step := range []struct {
			patch      domain.DefinitionPatch
			wantText   *string
			wantSchema map[string]string
		}{
			{domain.DefinitionPatch{Definition: domain.Definition{Description: description}, SetDescription: true}, description, nil},
			{domain.DefinitionPatch{Definition: domain.Definition{Schema: schema}, SetSchema: true}, description, schema},
			{domain.DefinitionPatch{}, description, schema},
			{domain.DefinitionPatch{SetDescription: true}, nil, schema},
			{domain.DefinitionPatch{Definition: domain.Definition{Schema: map[string]string{}}, SetSchema: true}, nil, map[string]string{}},
			{domain.DefinitionPatch{SetSchema: true}, nil, nil},
		} {
			w.must(w.UpdateDefinition(ctx, alice, one, step.patch))
			d, err := w.Dataset(ctx, alice, one)
			w.must(err)
			got := d.Definition
			sameText := (got.Description == nil) == (step.wantText == nil) && (got.Description == nil || *got.Description == *step.wantText)
			if !sameText || (got.Schema == nil) != (step.wantSchema == nil) || !maps.Equal(got.Schema, step.wantSchema) {
				t.Errorf("after %+v: got %+v", step.patch, got)
			}
		}
		changed := func() (at int64) {
			w.must(w.GetContext(ctx, &at, `SELECT max(updated_at) FROM datasets`))
			return at
		}
		before := changed()
		for time.Now().UnixMilli() <= before {
			runtime.Gosched()
		}
		w.must(w.UpdateDefinition(ctx, alice, one, domain.DefinitionPatch{}))
		if changed() != before {
			t.Error("a dataset of which nothing was set has changed")
		}
	})
}
