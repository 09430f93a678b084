package catalog_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm"
	"parley/llm/reader/catalog"
)

func TestNameWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"customer_id": "customer id", "customerId": "customer id", "CustomerID": "customer id", "HTTPCode": "http code", "Price (EUR)": "price eur",
		"address2": "address 2", "tbl_orders": "orders", "qty": "quantity", "emp_nm": "employee name", "% Full": "% full", "Größe": "grosse", "___": "___",
		"dob": "birthday", "": "",
	} {
		if got := strings.Join(catalog.NameWords(name), " "); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestStem(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{{"cities", "city"}, {"orders", "order", "ordered"}, {"boxes", "box"}, {"women", "woman"}, {"children's", "child"}, {"customer's", "customers"}, {"price", "prices"}} {
		for _, w := range same {
			if catalog.Stem(w) != catalog.Stem(same[0]) {
				t.Errorf("%s is %s and %s is %s", w, catalog.Stem(w), same[0], catalog.Stem(same[0]))
			}
		}
	}
}

func TestLinks(t *testing.T) {
	t.Parallel()
	c := catalogtest.Shop()
	var got []string
	for _, l := range c.Links {
		from, to := &c.Columns[l.From], &c.Columns[l.To]
		got = append(got, c.Tables[from.Table].Name+"."+from.Name+" > "+c.Tables[to.Table].Name+"."+to.Name)
	}
	slices.Sort(got)
	want := []string{"order_items.order_id > orders.order_id", "order_items.product_id > products.product_id", "orders.customer_id > customers.customer_id"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	for i, name := range []string{"customer_id", "item_id", "order_id", "product_id"} {
		if key := c.Tables[i].Key; key < 0 || c.Columns[key].Name != name {
			t.Errorf("%s has the key %d", c.Tables[i].Name, key)
		}
	}
}

// TestRoles looks at columns that refer to a table under the name of a role.
func TestRoles(t *testing.T) {
	t.Parallel()
	column := func(name, kind string, values ...string) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: kind, Values: values, Complete: true, Distinct: int64(len(values)), Filled: 5}
	}
	people := column("MemberNo", "VARCHAR", "M1", "M2", "M3", "M4", "M5")
	cars := column("car_code", "BIGINT", "1", "2", "3", "4", "5")
	for name, c := range map[string]catalog.ColumnProfile{
		"OwnerNo": column("OwnerNo", "VARCHAR", "M1", "M2", "M5"), "paidBy": column("paidBy", "VARCHAR", "M1", "M3", "M4"), "": column("paidBy", "VARCHAR", "M1", "M3", "M9"),
	} {
		cat := catalog.New([]*catalog.Profile{{Name: "people", Rows: 5, Columns: []catalog.ColumnProfile{people}}, {Name: "cars", Rows: 5, Columns: []catalog.ColumnProfile{cars, c}}}, nil)
		got := ""
		for _, l := range cat.Links {
			got += cat.Columns[l.From].Name
		}
		if got != name {
			t.Errorf("%s %v: linked %q", c.Name, c.Values, got)
		}
	}
}

// TestSelfReference looks at a column that refers to its own table: it refers to no other.
func TestSelfReference(t *testing.T) {
	t.Parallel()
	column := func(name string, values ...string) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: "BIGINT", Values: values, Complete: true, Distinct: int64(len(values)), Filled: 9}
	}
	ids := []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}
	cat := catalog.New([]*catalog.Profile{
		{Name: "employees", Rows: 9, Columns: []catalog.ColumnProfile{column("emp id", ids...), column("manager id", "1", "2", "3", "4")}},
		{Name: "absences", Rows: 9, Columns: []catalog.ColumnProfile{column("id", ids...), column("emp id", "1", "3", "5", "6")}},
	}, nil)
	if len(cat.Links) != 1 || cat.Columns[cat.Links[0].From].Name != "emp id" || cat.Columns[cat.Links[0].From].Table != 1 {
		t.Errorf("links %v", cat.Links)
	}
}

func TestKinds(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind   string
		values []string
		want   catalog.Kind
		native bool
	}{
		{"BIGINT", []string{"1"}, catalog.Number, true},
		{"DECIMAL(10,2)", nil, catalog.Number, true},
		{"VARCHAR", []string{"$12.50", "$1,299.00", "n/a"}, catalog.Number, false},
		{"VARCHAR", []string{"007", "012", "123"}, catalog.Text, true},
		{"VARCHAR", []string{"6340,74", "12,5", "17"}, catalog.Number, false},
		{"VARCHAR", []string{"1.250,50", "12,50", "2.000.000,00 €"}, catalog.Number, false},
		{"VARCHAR", []string{"1.250.000", "980.000"}, catalog.Number, false},
		{"VARCHAR", []string{"March 5, 2020", "May 2021"}, catalog.Date, false},
		{"VARCHAR", []string{"7:24", "12:01"}, catalog.Clock, false},
		{"VARCHAR", []string{"red", "12", "blue"}, catalog.Text, true},
		{"INTEGER[]", nil, catalog.Other, true},
	} {
		c := catalog.New([]*catalog.Profile{{Name: "t", Rows: 3, Columns: []catalog.ColumnProfile{{Name: "c", Type: test.kind, Values: test.values}}}}, nil)
		if got := c.Columns[0]; got.Kind != test.want || got.Native != test.native {
			t.Errorf("%s %q: kind %d, native %v", test.kind, test.values, got.Kind, got.Native)
		}
	}
}

func TestWithoutColumn(t *testing.T) {
	t.Parallel()
	c := catalogtest.Shop()
	less := c.WithoutColumn(catalogtest.Column(c, "orders", "status"))
	if len(less.Columns) != len(c.Columns)-1 || len(less.Links) != len(c.Links) {
		t.Fatalf("%d columns, %d links", len(less.Columns), len(less.Links))
	}
	for i, l := range less.Links {
		if less.Columns[l.From].Name != c.Columns[c.Links[i].From].Name || less.Columns[l.To].Name != c.Columns[c.Links[i].To].Name {
			t.Errorf("link %d is another one", i)
		}
	}
	if cells := less.Index().FindExact(catalog.Key([]string{"pending"})); len(cells) > 0 {
		t.Errorf("the values of the column are still found: %v", cells)
	}
}

func TestFindNear(t *testing.T) {
	t.Parallel()
	index := catalogtest.Shop().Index()
	for word, want := range map[string]bool{"hambrug": true, "hamburgg": true, "hambur": true, "harbour": false, "berlim": true} {
		if got := len(index.FindNear(catalog.Stem(word))) > 0; got != want {
			t.Errorf("%s: %v", word, got)
		}
	}
}

func TestDisplayName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"order_date": "order date", "orderDate": "order date", "customerID": "customer ID", "GDP": "GDP", "Größe (cm)": "Größe (cm)", "_": "_", "a\nb": "a b",
	} {
		if got := catalog.DisplayName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"city": "cities", "day": "days", "status": "statuses", "orders": "orders", "box": "boxes", "order item": "order items", "": ""} {
		if got := catalog.Plural(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}

// TestDecimalComma tells whether texts write fractions with a comma.
func TestDecimalComma(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"1.250,50 980,00": true, "12,5 17": true, "1.250.000 980.000": true, "1,250.50 980.00": false, "1,250 3,000": false, "1.250 2.5": false} {
		values := strings.Fields(text)
		c := catalog.New([]*catalog.Profile{{Name: "t", Rows: 2, Columns: []catalog.ColumnProfile{{Name: "c", Type: "VARCHAR", Values: values}}}}, nil)
		if got := &c.Columns[0]; got.Kind != catalog.Number || got.DecimalComma != want {
			t.Errorf("%q: kind %d, decimal comma %v", values, got.Kind, got.DecimalComma)
		}
	}
}

// Given links are found by their names, whatever the case. A link between other columns, or
// within a table, is left out, and one of one row to many is turned around.
func TestNamedLinks(t *testing.T) {
	t.Parallel()
	column := func(name string, distinct int64) catalog.ColumnProfile {
		return catalog.ColumnProfile{Name: name, Type: "BIGINT", Distinct: distinct, Filled: 9, Values: []string{"1", "2", "3"}, Complete: true}
	}
	parts := []*catalog.Part{
		catalog.NewPart(&catalog.Profile{Name: "people", Rows: 9, Columns: []catalog.ColumnProfile{column("id", 9), column("boss", 3)}}),
		catalog.NewPart(&catalog.Profile{Name: "sales", Rows: 9, Columns: []catalog.ColumnProfile{column("people_id", 3), column("buyer", 3)}}),
	}
	link := func(from, column, to, toColumn string) llm.Link {
		return llm.Link{From: from, Columns: []string{column}, To: to, ToColumns: []string{toColumn}, ManyFrom: true, Declared: true, Label: "who paid"}
	}
	turned := link("people", "id", "sales", "buyer")
	turned.ManyFrom, turned.ManyTo = false, true
	many := link("sales", "buyer", "people", "boss")
	many.ManyTo = true
	cat := catalog.Join(parts, []llm.Link{
		link("SALES", "Buyer", "People", "ID"), turned, many,
		link("people", "boss", "people", "id"), link("sales", "none", "people", "id"), link("sales", "buyer", "none", "id"),
		{From: "sales", Columns: []string{"people_id", "buyer"}, To: "people", ToColumns: []string{"id", "boss"}, ManyFrom: true},
	})
	var got []string
	for _, l := range cat.Links {
		text := ""
		for _, pair := range l.Pairs() {
			text += fmt.Sprintf("%s=%s ", cat.Columns[pair[0]].Name, cat.Columns[pair[1]].Name)
		}
		got = append(got, fmt.Sprint(text, l.Many, l.Declared))
	}
	// The last one is inferred: the first column of a link of two may have one of its own.
	want := "buyer=id false true; buyer=boss true true; people_id=id buyer=boss false false; people_id=id false false"
	if strings.Join(got, "; ") != want {
		t.Errorf("got %s\nwant %s", strings.Join(got, "; "), want)
	}
	if hints := cat.Columns[3].Hints; !slices.Contains(hints, "pay") || len(parts[1].Columns()[1].Hints) > 0 {
		t.Errorf("the label describes %v and %v", hints, parts[1].Columns()[1].Hints)
	}
}

// TestDoubt says which texts cannot be compared as numbers or dates.
func TestDoubt(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		values     string
		doubt      catalog.Doubt
		multiplies bool
	}{
		{"2 kg|500 g", catalog.MixedUnits, false},
		{"2 kg|500", catalog.MixedUnits, false},
		{"2 kg|5 kg|n/a", catalog.NoDoubt, false},
		{"1 star|3 stars", catalog.NoDoubt, false},
		{"1st|2nd|3rd", catalog.NoDoubt, false},
		{"$5|€7|€9", catalog.MixedUnits, false},
		{"$5|7", catalog.NoDoubt, false},
		{"$3.4B|$850K", catalog.NoDoubt, true},
		{"$3M|$5M", catalog.NoDoubt, true},
		{"3 M|5 M", catalog.NoDoubt, false},
		{"3M|5", catalog.MixedUnits, false},
		{"3.5 mn|2 bn", catalog.NoDoubt, true},
		{"3K|5M|2 kg", catalog.MixedUnits, false},
		{"1 kg|2 kg|3 kg|4 kg|5 kg|6 kg|7 kg|8 kg|about 300 g|9 kg", catalog.MixedUnits, false},
		{"1.234|2.345", catalog.EitherDecimal, false},
		{"1,234|20", catalog.EitherDecimal, false},
		{"1,234|20.5", catalog.NoDoubt, false},
		{"$1,234|$20", catalog.NoDoubt, false},
		{"1,5|2.5", catalog.EitherDecimal, false},
		{"01/02/2024|03/04/2024", catalog.EitherOrder, false},
		{"01/02/2024|13/04/2024", catalog.NoDoubt, false},
		{"01/13/2024|13/04/2024", catalog.EitherOrder, false},
		{"2024-01-02|2024-03-04", catalog.NoDoubt, false},
	} {
		values := strings.Split(test.values, "|")
		c := catalog.New([]*catalog.Profile{{Name: "t", Rows: 10, Columns: []catalog.ColumnProfile{{Name: "c", Type: "VARCHAR", Values: values}}}}, nil).Columns[0]
		if c.Kind == catalog.Text || c.Doubt != test.doubt || c.Multiplies != test.multiplies {
			t.Errorf("%s: kind %d, doubt %d, multiplies %v", test.values, c.Kind, c.Doubt, c.Multiplies)
		}
	}
}

// TestSeparator tells lists in cells from other texts with commas.
func TestSeparator(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values []string
		want   string
	}{
		"lists":     {[]string{"France, Spain", "Spain, Italy", "Italy", "Italy, France", "Spain, France, Italy", "France"}, ""},
		"more":      {[]string{"France, Spain", "Spain, Italy", "Italy", "Italy, France", "Spain, France, Italy", "Italy, Spain"}, ", "},
		"semicolon": {[]string{"a;b", "b;a", "a;c", "c;a", "b;c", "c"}, ";"},
		"places":    {[]string{"Berlin, Germany", "Bonn, Germany", "Ulm, Germany", "Paris, France", "Lyon, France", "Nice, France"}, ""},
		"names":     {[]string{"Smith, Ann", "Smith, Bob", "Jones, Ann", "Jones, Bob", "Kent, Ann", "Kent, Bob"}, ""},
		"numbers":   {[]string{"1,2", "2,1", "1,3", "3,1", "2,3", "3,2"}, ""},
	} {
		cat := catalog.New([]*catalog.Profile{{Name: "t", Rows: 6, Columns: []catalog.ColumnProfile{{Name: "x", Type: "VARCHAR", Values: test.values, Complete: true, Distinct: 6, Filled: 6}}}}, nil)
		if got := cat.Columns[0].Separator; got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
