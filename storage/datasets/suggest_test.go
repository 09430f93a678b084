package datasets

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/internal/words"
)

func TestRelation(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		column, dataset, toColumn string
		want                      int
	}{
		{"customer_id", "customers", "id", namesKey},
		{"customerId", "Customers", "ID", namesKey},
		{"customer_id", "customers", "customer_id", namesKey},
		{"customer", "customers", "id", namesDataset},
		{"customer", "customers", "customer_id", namesDataset},
		{"billing_customer_id", "customers", "id", namesDataset},
		{"category_id", "product_categories", "id", namesDataset},
		{"customer_name", "customers", "name", namesKey},
		{"email", "customers", "email", sameName},
		{"order_id", "payments", "order_id", sameName},
		{"cust_id", "customers", "id", sameBeginning},
		{"id", "customers", "id", unrelated},
		{"name", "customers", "name", unrelated},
		{"status", "shipments", "status", unrelated},
		{"quantity", "customers", "id", unrelated},
		{"customer", "customers", "email", unrelated},
		{"customer_id", "products", "id", unrelated},
		{"---", "customers", "id", unrelated},
	} {
		if got := relation(words.Of(test.column), words.Of(test.dataset), words.Of(test.toColumn)); got != test.want {
			t.Errorf("%s and %s.%s: got %d, want %d", test.column, test.dataset, test.toColumn, got, test.want)
		}
	}
}

// suggestTables have links by name and by values, and pairs of columns that look like one.
var suggestTables = [][2]string{
	{"customers", `SELECT i + 1 AS id, 'Name ' || i AS name, i % 7 AS rank, 'u' || i || '@example.com' AS email FROM range(1000) r(i)`},
	{"products", `SELECT 'SKU-' || i AS sku, 'Thing ' || i % 20 AS title FROM range(60) r(i)`},
	// One order in a hundred is of no customer, and each has a product.
	{"orders", `SELECT i AS id, CASE WHEN i % 100 = 0 THEN 5000 + i ELSE i % 1000 + 1 END AS customer_id, 'SKU-' || i % 50 AS article, i % 7 AS rank FROM range(4000) r(i)`},
	// Most shipments are of orders that are not here.
	{"shipments", `SELECT i AS id, 3000 + i AS order_id, 'u' || i % 30 || '@example.com' AS email FROM range(4000) r(i)`},
	// These numbers of customers are others.
	{"visits", `SELECT i AS id, 100000 + i AS customer_id FROM range(50) r(i)`},
	{"empty", `SELECT 1 AS id, 1 AS customer_id WHERE false`},
}

func (s *linkSetup) suggested(t *testing.T, dataset string) string {
	t.Helper()
	declared, suggested, err := s.Links(t.Context(), ann, domain.DatasetRef{Owner: "ann", Namespace: "shop", Name: dataset})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range append(declared, suggested...) {
		line := fmt.Sprintf("%s>%s.%s", strings.Join(l.Columns, ","), l.To, strings.Join(l.ToColumns, ","))
		if l.Declared {
			line = "declared " + line
		}
		if l.Problem != "" {
			line += ": " + l.Problem
		}
		if m := l.Measure; m != nil {
			line += fmt.Sprintf(" %s %d/%d", m.Cardinality, m.Rows-m.Orphans, m.Rows)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

func TestSuggestedLinks(t *testing.T) {
	t.Parallel()
	s := newLinkSetup(t, suggestTables)
	expect := func(dataset, want string) {
		t.Helper()
		if got := s.suggested(t, dataset); got != want {
			t.Errorf("links of %s:\n%s\nwant:\n%s", dataset, got, want)
		}
	}
	expect("orders", "customer_id>customers.id many-to-one 3960/4000\narticle>products.sku many-to-one 4000/4000")
	expect("SHIPMENTS", "email>customers.email many-to-one 4000/4000")
	expect("customers", "")
	// Of what the profiles rule out, nothing is measured.
	before := s.links.measures.Len()
	expect("visits", "")
	expect("empty", "")
	if after := s.links.measures.Len(); after != before {
		t.Errorf("%d pairs were measured that profiles rule out", after-before)
	}

	s.records.declared = []domain.Link{
		{From: "orders", Columns: []string{"ARTICLE"}, To: "products", ToColumns: []string{"title"}},
		{From: "orders", Columns: []string{"id", "rank"}, To: "customers", ToColumns: []string{"id", "rank"}},
		{From: "orders", Columns: []string{"gone"}, To: "customers", ToColumns: []string{"id"}},
		{From: "customers", Columns: []string{"id"}, To: "orders", ToColumns: []string{"customer_id"}},
	}
	expect("orders", strings.Join([]string{
		"declared article>products.title many-to-many 0/4000",
		"declared id,rank>customers.id,rank one-to-one 0/4000",
		"declared gone>customers.id: `gone` is not a column of orders",
		"customer_id>customers.id many-to-one 3960/4000",
	}, "\n"))
	expect("customers", "declared id>orders.customer_id one-to-many 990/1000")

	all, err := s.LinksBetween(t.Context(), ann, shop, s.all)
	if err != nil || len(all) != 5 || !all[2].Declared || all[3].Declared {
		t.Errorf("links of the namespace: %+v, %v", all, err)
	}
	if _, _, err := s.Links(t.Context(), ann, domain.DatasetRef{Owner: "ann", Namespace: "shop", Name: "none"}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("links of no dataset: %v", err)
	}
	if _, _, err := s.Links(t.Context(), domain.Caller{Username: "bob"}, domain.DatasetRef{Owner: "ann", Namespace: "shop", Name: "orders"}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("links for another: %v", err)
	}
}

// Without profiles, names alone say which pairs are measured; and without workers, what is
// declared is still known.
func TestLinksWithoutProfilesAndWorkers(t *testing.T) {
	t.Parallel()
	s := newLinkSetup(t, suggestTables)
	s.records.profiles = nil
	if got := s.suggested(t, "orders"); got != "customer_id>customers.id many-to-one 3960/4000" {
		t.Errorf("without profiles: %s", got)
	}
	s.config.Pool.Close()
	s.records.declared = []domain.Link{{From: "orders", Columns: []string{"article"}, To: "products", ToColumns: []string{"sku"}}}
	if got := s.suggested(t, "orders"); got != "declared article>products.sku\ncustomer_id>customers.id many-to-one 3960/4000" {
		t.Errorf("without workers: %s", got)
	}
}

// All declared links are measured before others are looked for, and what could not be measured
// is logged once.
func TestDeclaredLinksAreMeasuredFirst(t *testing.T) {
	t.Parallel()
	s := newLinkSetup(t, suggestTables)
	var log strings.Builder
	s.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	s.records.declared = []domain.Link{
		{From: "orders", Columns: []string{"article"}, To: "products", ToColumns: []string{"sku"}},
		{From: "shipments", Columns: []string{"email"}, To: "customers", ToColumns: []string{"email"}},
		{From: "visits", Columns: []string{"customer_id"}, To: "customers", ToColumns: []string{"id"}},
	}
	// The first profile is read for the first suggestion.
	s.records.onProfile = s.config.Pool.Close
	for version, measured := range []bool{true, false} {
		log.Reset()
		for i := range s.all {
			s.all[i].Version = int64(version) + 1
		}
		links, err := s.LinksBetween(t.Context(), ann, shop, s.all)
		if err != nil || len(links) != 3 {
			t.Fatalf("got %+v, %v", links, err)
		}
		for _, l := range links {
			if !l.Declared || (l.Measure != nil) != measured {
				t.Errorf("version %d: a link of %s: declared %v, measured %v", version+1, l.From, l.Declared, l.Measure != nil)
			}
		}
		if n := strings.Count(log.String(), "links not measured"); n != 1 {
			t.Errorf("version %d: logged %d times:\n%s", version+1, n, log.String())
		}
	}
}

// An attachment hides a dataset, with the links that were declared for it, and has links that
// its names suggest.
func TestLinksOfAttachments(t *testing.T) {
	t.Parallel()
	s := newLinkSetup(t, suggestTables)
	s.records.declared = []domain.Link{
		{From: "orders", Columns: []string{"article"}, To: "products", ToColumns: []string{"sku"}},
		{From: "shipments", Columns: []string{"email"}, To: "customers", ToColumns: []string{"email"}},
	}
	s.all[2].Owner, s.all[2].Namespace = "", "" // orders
	delete(s.records.profiles, "orders")
	for _, in := range []domain.NamespaceRef{shop, {}} {
		var got []string
		links, err := s.LinksBetween(t.Context(), ann, in, s.all)
		for _, l := range links {
			got = append(got, fmt.Sprintf("%s.%s>%s %v", l.From, l.Columns[0], l.To, l.Declared))
		}
		want := "shipments.email>customers false orders.customer_id>customers false"
		if in == shop {
			want = "shipments.email>customers true orders.customer_id>customers false"
		}
		if err != nil || len(got) != 2 || !strings.Contains(want, got[0]) || !strings.Contains(want, got[1]) {
			t.Errorf("in %q: %v, %v", in, got, err)
		}
	}
}

// wideSuggester has two datasets of as many columns as there may be, all with texts that no
// other has.
func wideSuggester(distinct int64, columnName func(dataset string, i int) string) (suggester, *linkRecords) {
	records := &linkRecords{profiles: map[string]domain.DatasetProfile{}}
	var all []domain.DatasetData
	for _, name := range []string{"customers", "orders"} {
		data := domain.DatasetData{ID: name, Version: 1, Dataset: domain.Dataset{Owner: "ann", Namespace: "shop", Name: name, RowCount: distinct}}
		profile := domain.DatasetProfile{Version: 1, RowCount: distinct, Known: true}
		for i := range domain.MaxColumns {
			column := domain.Column{Name: columnName(name, i), Type: "VARCHAR"}
			least, most := fmt.Sprintf("%s %04d a", name, i), fmt.Sprintf("%s %04d z", name, i)
			data.Columns = append(data.Columns, column)
			profile.Columns = append(profile.Columns, domain.ColumnProfile{Name: column.Name, Type: column.Type, Distinct: distinct,
				Min: &least, Max: &most, Sketch: make(domain.Sketch, domain.SketchSize)})
		}
		all = append(all, data)
		records.profiles[name] = profile
	}
	d := &Datasets{config: Config{Records: records}}
	return suggester{linkMeter: d.linkMeter(ann, all), from: all[1]}, records
}

func unrelatedName(dataset string, i int) string { return fmt.Sprintf("%s_text_%d", dataset, i) }

// relatedName makes names that begin as a dataset's. The last is of a key.
func relatedName(_ string, i int) string {
	if i == domain.MaxColumns-1 {
		return "customer_id"
	}
	return fmt.Sprintf("cust_%d_id", i)
}

// It counts allocations, and is thus not parallel to others.
func TestCandidatesOfWideDatasetsAreLimited(t *testing.T) {
	for name, columnName := range map[string]func(string, int) string{"unrelated": unrelatedName, "related": relatedName} {
		s, _ := wideSuggester(1000, columnName)
		allocations := testing.AllocsPerRun(1, func() {
			clear(s.profiles)
			if _, err := s.candidates(t.Context()); err != nil {
				t.Error(err)
			}
		})
		// There are four million pairs.
		if allocations > 200_000 {
			t.Errorf("%s names: %.0f allocations", name, allocations)
		}
	}
}

func TestLikeliestPairsAreFirst(t *testing.T) {
	t.Parallel()
	s, _ := wideSuggester(1000, relatedName)
	pairs, err := s.related(t.Context())
	if err != nil || len(pairs) != maxPairs || pairs[0].relation != namesKey || pairs[len(pairs)-1].relation != sameBeginning {
		t.Errorf("got %d pairs, %v", len(pairs), err)
	}
}

// Columns with few values are compared with none: no other profile is read.
func TestFewValuesAreNotCompared(t *testing.T) {
	t.Parallel()
	for distinct, want := range map[int64]int{minValues - 1: 1, minValues: 2} {
		s, records := wideSuggester(distinct, unrelatedName)
		read := 0
		records.onProfile = func() { read++ }
		if found, err := s.candidates(t.Context()); err != nil || len(found) > 0 || read != want {
			t.Errorf("%d values: %d profiles read, %d candidates, %v", distinct, read, len(found), err)
		}
	}
}

// A search ends with its context, also between profiles.
func TestCandidatesEndWithContext(t *testing.T) {
	t.Parallel()
	for name, columnName := range map[string]func(string, int) string{"unrelated": unrelatedName, "related": relatedName} {
		ctx, cancel := context.WithCancel(t.Context())
		s, records := wideSuggester(1000, columnName)
		records.onProfile = cancel
		if _, err := s.candidates(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s names: got %v", name, err)
		}
		clear(s.profiles)
		records.onProfile = func() { t.Errorf("%s names: a profile was read", name) }
		if _, err := s.candidates(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("%s names, from the beginning: got %v", name, err)
		}
	}
}

// BenchmarkWideCandidates is the search in profiles for pairs of columns of two datasets with
// as many texts as there may be.
func BenchmarkWideCandidates(b *testing.B) {
	for name, columnName := range map[string]func(string, int) string{"unrelated": unrelatedName, "related": relatedName} {
		b.Run("names="+name, func(b *testing.B) {
			s, _ := wideSuggester(1000, columnName)
			b.ReportAllocs()
			for b.Loop() {
				clear(s.profiles)
				if _, err := s.candidates(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
