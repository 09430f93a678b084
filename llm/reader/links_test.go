package reader_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// market has sales with two columns of numbers that people have too, and goods and stock
// that two columns identify. No name says what refers to what.
func market(t *testing.T) (*ducktest.Duck, []llm.Dataset) {
	t.Helper()
	d := ducktest.New(t)
	var sales, people, stock []string
	for i := range 40 {
		sales = append(sales, fmt.Sprintf("(%d, %d, %d, %d, 'S%d', 'G%d')", 100+i, i%10, (i+3)%10, 10*i, i%2, i%5))
	}
	for i := range 10 {
		people = append(people, fmt.Sprintf("(%d, 'Person %c', '%s', '%d')", i, 'A'+i, []string{"Rome", "Oslo"}[i%2], i))
		stock = append(stock, fmt.Sprintf("('S%d', 'G%d', '%s')", i%2, i%5, []string{"red", "blue", "green"}[i%3]))
	}
	return d, []llm.Dataset{
		d.Table("people", "id BIGINT, name VARCHAR, city VARCHAR, badge VARCHAR", strings.Join(people, ", ")),
		d.Table("sales", "sale BIGINT, seller BIGINT, buyer BIGINT, amount BIGINT, place VARCHAR, article VARCHAR", strings.Join(sales, ", ")),
		d.Table("stock", "store VARCHAR, good VARCHAR, colour VARCHAR", strings.Join(stock, ", ")),
	}
}

// salesTo makes a link of sales.
func salesTo(to string, declared bool, pairs ...string) llm.Link {
	l := llm.Link{From: "sales", To: to, Declared: declared, ManyFrom: true}
	for _, pair := range pairs {
		from, column, _ := strings.Cut(pair, "=")
		l.Columns, l.ToColumns = append(l.Columns, from), append(l.ToColumns, column)
	}
	return l
}

// TestDeclaredLinks joins by the links of a task, where nothing else says what to join by.
func TestDeclaredLinks(t *testing.T) {
	t.Parallel()
	d, datasets := market(t)
	buyer, seller := salesTo("people", true, "buyer=id"), salesTo("people", true, "seller=id")
	labelled := func(l llm.Link, label string) llm.Link {
		l.Label = label
		return l
	}
	found := salesTo("people", false, "seller=id")
	turned := llm.Link{From: "PEOPLE", Columns: []string{"ID"}, To: "Sales", ToColumns: []string{"Buyer"}, Declared: true, ManyTo: true}
	const byCity = "What is the total amount of sales by city?"
	for name, test := range map[string]struct {
		links          []llm.Link
		question, join string
		rows           string
	}{
		"the buyer":  {[]llm.Link{buyer}, byCity, `"sales"."buyer" = "people"."id"`, `{"city":"Oslo","total_amount":3800};{"city":"Rome","total_amount":4000}`},
		"the seller": {[]llm.Link{seller}, byCity, `"sales"."seller" = "people"."id"`, `{"city":"Oslo","total_amount":4000};{"city":"Rome","total_amount":3800}`},
		"a declared one before one that was found": {
			[]llm.Link{buyer, found}, byCity, `"sales"."buyer" = "people"."id"`, ""},
		"one that was found": {[]llm.Link{found}, byCity, `"sales"."seller" = "people"."id"`, ""},
		"declared from the other side": {
			[]llm.Link{turned}, byCity, `"sales"."buyer" = "people"."id"`, ""},
		"the one that the question names": {
			[]llm.Link{buyer, seller}, "total amount of sales by city of the seller", `"sales"."seller" = "people"."id"`, ""},
		"the one whose label the question has": {
			[]llm.Link{labelled(buyer, "who paid"), labelled(seller, "who sold it")}, "number of sales sold by Person A", `"sales"."seller" = "people"."id"`, `{"count":4}`},
		"texts that are numbers": {
			[]llm.Link{salesTo("people", true, "buyer=badge")}, byCity, ``, `{"city":"Oslo","total_amount":3800};{"city":"Rome","total_amount":4000}`},
		"two columns": {
			[]llm.Link{salesTo("stock", true, "place=store", "article=good")}, "What is the total amount of sales by colour?",
			`"sales"."place" = "stock"."store" AND "sales"."article" = "stock"."good"`,
			`{"colour":"blue","total_amount":2280};{"colour":"green","total_amount":2400};{"colour":"red","total_amount":3120}`},
		"a condition on two columns": {
			[]llm.Link{{From: "stock", Columns: []string{"store", "good"}, To: "sales", ToColumns: []string{"place", "article"}, Declared: true, ManyTo: true}},
			"How many stock are there with amount above 380?", `("store", "good") IN (SELECT "place", "article" FROM "sales"`, `{"count":1}`},
	} {
		q, err := reader.New().WriteQuery(t.Context(), llm.QueryTask{
			Task: llm.Task{Question: test.question, Datasets: datasets, Links: test.links, Data: d, Now: now}, Instruction: test.question})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(q.SQL, test.join) || len(q.Readings) > 0 {
			t.Errorf("%s: got %s with %d readings", name, q.SQL, len(q.Readings))
		}
		rows := strings.Split(rowsOf(t, d, q.SQL), ";")
		slices.Sort(rows)
		if got := strings.Join(rows, ";"); test.rows != "" && got != test.rows {
			t.Errorf("%s: %s gives\n%s, want\n%s", name, q.SQL, got, test.rows)
		}
	}
}

// TestManyToMany repeats no row of what is added up, though several rows of the other table
// belong to it.
func TestManyToMany(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("sales", "sale BIGINT, region VARCHAR, amount BIGINT", "(1, 'north', 10), (2, 'north', 20), (3, 'south', 40)"),
		d.Table("agents", "agent VARCHAR, area VARCHAR, team VARCHAR", "('Ann', 'north', 'a'), ('Bo', 'north', 'a'), ('Cy', 'south', 'b')"),
	}
	link := llm.Link{From: "sales", Columns: []string{"region"}, To: "agents", ToColumns: []string{"area"}, Declared: true, ManyFrom: true, ManyTo: true}
	const question = "What is the total amount of sales with agents of team a?"
	q, err := reader.New().WriteQuery(t.Context(), llm.QueryTask{
		Task: llm.Task{Question: question, Datasets: datasets, Links: []llm.Link{link}, Data: d, Now: now}, Instruction: question})
	if err != nil {
		t.Fatal(err)
	}
	if got := rowsOf(t, d, q.SQL); got != `{"total_amount":30}` {
		t.Errorf("%s gives %s", q.SQL, got)
	}
}

// TestReadingsGoByLinks reads a question anew when its links are others.
func TestReadingsGoByLinks(t *testing.T) {
	t.Parallel()
	d, datasets := market(t)
	r := reader.New()
	var all []string
	for _, column := range []string{"buyer=id", "seller=id", "buyer=id"} {
		task := step(d, datasets, "How many sales are there per city?")
		task.Links = []llm.Link{salesTo("people", true, column)}
		q, err := r.WriteQuery(t.Context(), task)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, q.SQL)
	}
	if all[0] == all[1] || all[0] != all[2] {
		t.Errorf("got %s", strings.Join(all, "\n"))
	}
}

// TestDeclaredLinkTable takes in a table that nothing but declared links connects with two
// that the question is about.
func TestDeclaredLinkTable(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	var datasets []llm.Dataset
	for i := range 12 {
		datasets = append(datasets, d.Table(fmt.Sprintf("filler_%c", 'a'+i), "note VARCHAR", "('x')"))
	}
	datasets = append(datasets,
		d.Table("actors", "id BIGINT, surname VARCHAR", "(1, 'Moss'), (2, 'Hill')"),
		d.Table("films", "id BIGINT, title VARCHAR", "(1, 'Dawn'), (2, 'Dusk')"),
		d.Table("plays", "a BIGINT, f BIGINT", "(1, 1), (1, 2), (2, 2)"))
	links := []llm.Link{
		{From: "plays", Columns: []string{"a"}, To: "actors", ToColumns: []string{"id"}, Declared: true, ManyFrom: true},
		{From: "plays", Columns: []string{"f"}, To: "films", ToColumns: []string{"id"}, Declared: true, ManyFrom: true},
	}
	const question = "List the surnames of actors in films with the title Dawn"
	r := reader.New()
	if got := reader.Relevant(r, question, datasets); slices.Contains(got, "plays") {
		t.Errorf("without links: %v", got)
	}
	if got := reader.Relevant(r, question, datasets, links...); !slices.Contains(got, "plays") {
		t.Errorf("with links: %v", got)
	}
}

// TestEqualMeasuresAreNoLink joins no tables by a measure that both have.
func TestEqualMeasuresAreNoLink(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("orders", "order_id BIGINT, amount DOUBLE", "(1, 10.5), (2, 20), (3, 5), (4, 7), (5, 8)"),
		d.Table("sales", "region VARCHAR, amount BIGINT", "('north', 10), ('south', 20), ('north', 5)"),
	}
	q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "What is the total amount of sales per region?"))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(q.SQL, "JOIN") {
		t.Errorf("got %s", q.SQL)
	}
}

// TestMeasuresOfBothSides refuses to add up figures of two tables of which one repeats the
// rows of the other.
func TestMeasuresOfBothSides(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("invoices", "invoice_id BIGINT, client VARCHAR, total BIGINT", "(1, 'A', 100), (2, 'B', 50), (3, 'A', 10)"),
		d.Table("lines", "line_id BIGINT, invoice_id BIGINT, product VARCHAR, qty BIGINT", "(1, 1, 'x', 2), (2, 1, 'y', 2), (3, 2, 'x', 3), (4, 3, 'z', 1)"),
	}
	q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "sum of total and sum of qty per client"))
	if err == nil && strings.Contains(q.SQL, "JOIN") && strings.Contains(q.SQL, "total") && strings.Contains(q.SQL, "qty") {
		t.Errorf("got %s", q.SQL)
	}
}
