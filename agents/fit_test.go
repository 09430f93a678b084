package agents_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"parley/agents"
	"parley/internal/domain"
	"parley/llm/reader"
)

// described has datasets by namespace.
type described map[domain.NamespaceRef][]domain.Dataset

func (d described) datasets(_ context.Context, _ domain.Caller, ref domain.NamespaceRef, _ int) ([]domain.Dataset, error) {
	if d[ref] == nil {
		return nil, domain.ErrNotFound
	}
	return d[ref], nil
}

// towns is a profile with a value.
type towns struct{}

func (towns) Profile(_ context.Context, _ domain.Caller, ref domain.DatasetRef) (domain.DatasetProfile, error) {
	if ref.Name != "plants" {
		return domain.DatasetProfile{}, domain.ErrNotFound
	}
	return domain.DatasetProfile{Columns: []domain.ColumnProfile{{Name: "town", Top: []domain.ValueCount{{Value: "Oslo"}, {Value: "Paris"}}}}}, nil
}

// TestNamespaces finds the namespace that a question names, or fits.
func TestNamespaces(t *testing.T) {
	t.Parallel()
	me := domain.Caller{Username: "me"}
	data := described{}
	var readable []domain.NamespaceRef
	add := func(namespace, dataset string, columns ...string) {
		ref := domain.NamespaceRef{Owner: "me", Name: namespace}
		d := domain.Dataset{Owner: ref.Owner, Namespace: ref.Name, Name: dataset}
		for _, c := range columns {
			d.Columns = append(d.Columns, domain.Column{Name: c, Type: "VARCHAR"})
		}
		data[ref] = append(data[ref], d)
		readable = append(readable, ref)
	}
	add("garden", "plants", "name", "town")
	add("shop", "shop_orders", "id", "amount")
	add("archive", "orders", "id", "amount")
	add("paris", "photos", "title")
	add("sales", "invoices", "store", "total")
	add("store", "shelves", "width")
	add("plants", "soils", "depth")
	add("east", "visits", "day")
	add("log", "visits", "east")
	readable = append(readable, domain.NamespaceRef{Owner: "me", Name: "deleted"})
	n := &agents.Namespaces{Datasets: data.datasets, Profiles: towns{}, Fit: reader.Fit}
	for question, want := range map[string]string{
		"How many orders are there in shop?":     "me/shop",
		"in shop: How many plants are there?":    "me/shop",
		"in Paris: How many plants are there?":   "me/paris",
		"How many plants are there in Paris?":    "me/garden",
		"What are the towns in plants?":          "me/garden",
		"How many visits are there in east?":     "me/log",
		"How many photos are there in Paris?":    "me/paris",
		"How many invoices are there in store?":  "me/sales",
		"How many orders are there in archive?":  "me/archive",
		"How many zebras are there in archive?":  "me/archive",
		"How many plants are there in the shop?": "",
	} {
		address, ok := domain.FindAddress(me, question, readable)
		if ok != (want != "") {
			t.Fatalf("%s: %+v, %t", question, address, ok)
		}
		if !ok {
			continue
		}
		if got, err := n.Named(t.Context(), me, address, readable); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", question, got, err)
		}
	}
	for question, want := range map[string]string{"How many plants are there?": "garden", "What is the total of invoices?": "sales", "xyzzy?": ""} {
		if got, err := n.Best(t.Context(), me, question, readable); err != nil || got.Name != want {
			t.Errorf("%s: %s, %v", question, got, err)
		}
	}
	many := readable
	for i := range 100 {
		many = append(many, domain.NamespaceRef{Owner: "other", Name: fmt.Sprint("n", i)})
	}
	if got, err := n.Best(t.Context(), me, "How many plants are there?", many); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("of many namespaces: %s, %v", got, err)
	}
	address, _ := domain.FindAddress(me, "How many orders are there in shop?", many)
	if got, err := n.Named(t.Context(), me, address, many); err != nil || got.Name != "shop" {
		t.Errorf("named among many: %s, %v", got, err)
	}
}

// TestNamespacesOfOthers asks beside a namespace that somebody shared, whose data fits a little
// better.
func TestNamespacesOfOthers(t *testing.T) {
	t.Parallel()
	me := domain.Caller{Username: "me"}
	dataset := func(ref domain.NamespaceRef, columns ...string) []domain.Dataset {
		d := domain.Dataset{Owner: ref.Owner, Namespace: ref.Name, Name: "orders"}
		for _, c := range columns {
			d.Columns = append(d.Columns, domain.Column{Name: c, Type: "VARCHAR"})
		}
		return []domain.Dataset{d}
	}
	mine, theirs := domain.NamespaceRef{Owner: "me", Name: "shop"}, domain.NamespaceRef{Owner: "mal", Name: "orders"}
	data := described{mine: dataset(mine, "id", "amount"), theirs: dataset(theirs, "id", "amount", "many")}
	n := &agents.Namespaces{Datasets: data.datasets, Profiles: towns{}, Fit: reader.Fit}
	empty := domain.NamespaceRef{Owner: "me", Name: "empty"}
	data[empty] = []domain.Dataset{}
	readable := []domain.NamespaceRef{empty, theirs, mine}
	if got, err := n.Best(t.Context(), me, "How many orders are there?", readable); err != nil || got != mine {
		t.Errorf("without a name: %v, %v", got, err)
	}
	period := domain.NamespaceRef{Owner: "mal", Name: "2024"}
	data[period] = dataset(period, "id", "amount")
	readable = append(readable, period)
	for question, want := range map[string]domain.NamespaceRef{"How many orders are there in 2024?": {}, "in 2024: how many orders are there?": period, "How many xyzzies are there in 2024?": period} {
		address, ok := domain.FindAddress(me, question, readable)
		if got, err := n.Named(t.Context(), me, address, readable); !ok || err != nil || got != want {
			t.Errorf("%s %v, %v", question, got, err)
		}
	}
	for _, question := range []string{"How many amounts are in orders?", "How many xyzzies are in orders?"} {
		address, ok := domain.FindAddress(me, question, readable)
		if got, err := n.Named(t.Context(), me, address, readable); !ok || err != nil || got != mine {
			t.Errorf("%s %v, %v", question, got, err)
		}
	}
}
