package reader_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// years are the parts of a dataset, one for each year, and customers that they refer to.
func years(t *testing.T) (*ducktest.Duck, []llm.Dataset) {
	t.Helper()
	d := ducktest.New(t)
	return d, []llm.Dataset{
		d.Table("customers", "customer_id BIGINT, name VARCHAR, segment VARCHAR", "(1, 'Ann', 'private'), (2, 'Bo', 'business')"),
		d.Table("orders_2023", "order_id BIGINT, customer_id BIGINT, city VARCHAR, amount BIGINT", "(1, 1, 'Rome', 4), (2, 2, 'Oslo', 6)"),
		d.Table("orders_2024", "order_id BIGINT, customer_id BIGINT, amount DOUBLE, city VARCHAR", "(3, 1, 7.5, 'Rome'), (4, 1, 8, 'Bern'), (5, 2, 9, 'Rome')"),
	}
}

// checkAnswers compares the rows that questions are answered with, and returns the queries.
func checkAnswers(t *testing.T, d *ducktest.Duck, datasets []llm.Dataset, answers map[string]string) map[string]llm.Query {
	t.Helper()
	r, queries := reader.New(), map[string]llm.Query{}
	for question, want := range answers {
		q, err := r.WriteQuery(t.Context(), likely(d, datasets, question))
		if err != nil {
			t.Errorf("%s: %v", question, err)
			continue
		}
		if got := rowsOf(t, d, q.SQL); got != want {
			t.Errorf("%s\n%s\n got %s\nwant %s", question, q.SQL, got, want)
		}
		queries[question] = q
	}
	return queries
}

// TestParts combines the parts of a dataset, unless the question names one.
func TestParts(t *testing.T) {
	t.Parallel()
	d, datasets := years(t)
	answers := map[string]string{
		"What is the total amount of all orders?":     `{"total_amount":34.5}`,
		"How many orders are there?":                  `{"count":5}`,
		"total amount by city":                        `{"city":"Rome","total_amount":20.5};{"city":"Bern","total_amount":8.0};{"city":"Oslo","total_amount":6.0}`,
		"How many orders are there for each segment?": `{"segment":"private","count":3};{"segment":"business","count":2}`,
		"What is the total amount of orders 2024?":    `{"total_amount":24.5}`,
		"How many orders 2023 are there?":             `{"count":2}`,
	}
	for question, q := range checkAnswers(t, d, datasets, answers) {
		combined := strings.Contains(q.Reasoning, "Combined datasets: “orders_2023” and “orders_2024”.")
		if named := strings.Contains(question, "202"); named == combined || len(q.Readings) > 0 {
			t.Errorf("%s: %s, %d readings", question, q.Reasoning, len(q.Readings))
		}
	}
}

// TestSameSchema asks which dataset is meant of several with the same columns whose names say
// nothing about whether they belong together.
func TestSameSchema(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	const columns = "sale_id BIGINT, city VARCHAR, amount BIGINT"
	datasets := []llm.Dataset{
		d.Table("sales_north", columns, "(1, 'Oslo', 4), (2, 'Oslo', 6)"),
		d.Table("sales_south", columns, "(1, 'Rome', 7), (2, 'Bari', 8), (3, 'Rome', 9)"),
	}
	r := reader.New()
	q, err := r.WriteQuery(t.Context(), step(d, datasets, "What is the total amount of all sales?"))
	if err != nil || len(q.Readings) != 2 {
		t.Fatalf("%+v, %v", q, err)
	}
	got := map[string]bool{}
	for _, x := range q.Readings {
		got[rowsOf(t, d, x.SQL)] = true
	}
	if !got[`{"total_amount":10}`] || !got[`{"total_amount":24}`] || q.Readings[0].Words == q.Readings[1].Words {
		t.Errorf("%+v", q.Readings)
	}
	q, err = r.WriteQuery(t.Context(), step(d, datasets, "What is the total amount of sales south?"))
	if err != nil || len(q.Readings) > 0 || rowsOf(t, d, q.SQL) != `{"total_amount":24}` {
		t.Errorf("%+v, %v", q, err)
	}
}

// TestMixedUnits asks which part is meant if the amounts of the parts have different units.
// Rows are counted in all parts.
func TestMixedUnits(t *testing.T) {
	t.Parallel()
	d, datasets := years(t)
	ask := func(question string, units map[string]string) llm.Query {
		task := step(d, datasets, question)
		task.Units = func(_ context.Context, d llm.Dataset) map[string]string {
			return map[string]string{"amount": units[d.Name]}
		}
		q, err := reader.New().WriteQuery(t.Context(), task)
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		return q
	}
	const total = "What is the total amount of all orders?"
	q := ask(total, map[string]string{"orders_2023": "€", "orders_2024": "$"})
	var got []string
	for _, x := range q.Readings {
		got = append(got, rowsOf(t, d, x.SQL))
	}
	slices.Sort(got)
	if !slices.Equal(got, []string{`{"total_amount":10}`, `{"total_amount":24.5}`}) {
		t.Errorf("%+v", q)
	}
	for _, units := range []map[string]string{{"orders_2023": "€", "orders_2024": "€"}, {"orders_2024": "€"}} {
		if q := ask(total, units); len(q.Readings) > 0 || rowsOf(t, d, q.SQL) != `{"total_amount":34.5}` {
			t.Errorf("%v: %+v", units, q)
		}
	}
	if q := ask("How many orders are there?", map[string]string{"orders_2023": "€", "orders_2024": "$"}); len(q.Readings) > 0 || rowsOf(t, d, q.SQL) != `{"count":5}` {
		t.Errorf("%+v", q)
	}
}

// TestWrittenNames takes no part of a name for a value.
func TestWrittenNames(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("Sales.2024-Q1", `region VARCHAR, "2024" BIGINT, "x""y" BIGINT, "Übung" VARCHAR`, "('north', 5, 1, 'y'), ('south', 7, 2, 'z')")}
	checkAnswers(t, d, datasets, map[string]string{
		"how many Sales.2024-Q1 are there":       `{"count":2}`,
		"How many rows does Sales 2024 Q1 have?": `{"count":2}`,
		`total x"y`:                              `{"total_x_y":3}`,
		`total x"y by region`:                    `{"region":"south","total_x_y":2};{"region":"north","total_x_y":1}`,
	})
}

// TestPartsWithEqualKeys counts an order once whose customer is in several parts.
func TestPartsWithEqualKeys(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	const columns = "customer_id BIGINT, name VARCHAR, segment VARCHAR"
	datasets := []llm.Dataset{
		d.Table("customers_2023", columns, "(1, 'Ann', 'private'), (2, 'Bo', 'business')"),
		d.Table("customers_2024", columns, "(1, 'Ann', 'private'), (2, 'Bo', 'business')"),
		d.Table("orders", "order_id BIGINT, customer_id BIGINT, amount BIGINT", "(1, 1, 4), (2, 1, 6), (3, 2, 9)"),
	}
	task := step(d, datasets, "total amount of orders by segment")
	task.Links = []llm.Link{{From: "orders", Columns: []string{"customer_id"}, To: "customers_2023", ToColumns: []string{"customer_id"}, ManyFrom: true}}
	q, err := reader.New().WriteQuery(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := rowsOf(t, d, q.SQL), `{"segment":"private","total_amount":10};{"segment":"business","total_amount":9}`; got != want {
		t.Errorf("%s\n got %s\nwant %s", q.SQL, got, want)
	}
}

// TestRowsWithoutKey counts rows that nothing identifies once for each row that they are
// joined with, and names columns as the datasets do.
func TestRowsWithoutKey(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("customers", "customer_id BIGINT, name VARCHAR", "(1, 'Ann'), (2, 'Bo')"),
		d.Table("sales", "customer_id BIGINT, amount BIGINT", "(1, 5), (1, 5), (2, 9)"),
		d.Table("tags", "customer_id BIGINT, tag VARCHAR", "(1, 'new'), (1, 'vip'), (2, 'vip'), (2, 'vip')"),
	}
	checkAnswers(t, d, datasets, map[string]string{
		"number of sales by tag":       `{"tag":"vip","count":3};{"tag":"new","count":2}`,
		"total amount of sales by tag": `{"tag":"vip","total_amount":19};{"tag":"new","total_amount":10}`,
	})
}
