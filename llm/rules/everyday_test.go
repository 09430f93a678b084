package rules

import (
	"strings"
	"testing"

	"parley/llm"
)

// shopWorld is a DuckDB with the tables of a shop.
func shopWorld(tb testing.TB) (*duck, []llm.Dataset) {
	tb.Helper()
	d := newDuck(tb)
	for _, statement := range []string{
		`CREATE TABLE orders (id BIGINT, city VARCHAR, amount DOUBLE, day DATE)`,
		`INSERT INTO orders VALUES (1, 'Berlin', 10.5, '2025-01-03'), (2, 'Paris', 20, '2025-02-04'), (3, 'Berlin', 30, '2025-02-05')`,
		`CREATE TABLE invoices (id BIGINT, name VARCHAR, total DOUBLE, number BIGINT)`,
		`INSERT INTO invoices VALUES (1, 'Ada', 5, 70), (2, 'Bo', 7, 80), (3, 'Ada', 9, 90)`,
	} {
		if _, err := d.db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	column := func(name, kind string) llm.Column { return llm.Column{Name: name, Type: kind} }
	return d, []llm.Dataset{
		{Name: "orders", Version: "1", Rows: 3, Columns: []llm.Column{column("id", "BIGINT"), column("city", "VARCHAR"), column("amount", "DOUBLE"), column("day", "DATE")}},
		{Name: "invoices", Version: "1", Rows: 3, Columns: []llm.Column{column("id", "BIGINT"), column("name", "VARCHAR"), column("total", "DOUBLE"), column("number", "BIGINT")}},
	}
}

// TestEverydayQuestions asks plain business tables, whose columns are often
// called by words of quantity: such a word is that column first.
func TestEverydayQuestions(t *testing.T) {
	t.Parallel()
	d, datasets := shopWorld(t)
	for question, want := range map[string]string{
		"What is the average amount?":                           "20.166666666666668",
		"What is the average amount of orders?":                 "20.166666666666668",
		"What is the average amount of orders for each city?":   "Berlin,20.25;Paris,20.0",
		"Average amount per city":                               "Berlin,20.25;Paris,20.0",
		"What is the total amount for each city?":               "Berlin,40.5;Paris,20.0",
		"What is the total amount of all orders?":               "60.5",
		"total amount in Berlin":                                "40.5",
		"Which city has the most orders?":                       "Berlin",
		"Which city has the highest total amount?":              "Berlin",
		"How many orders are there per city?":                   "Berlin,2;Paris,1",
		"List the cities":                                       "Berlin;Paris",
		"What is the highest amount?":                           "30.0",
		"Show the id of orders with an amount above 15":         "2;3",
		"How many orders have an amount over 15?":               "2",
		"How many orders were there in February 2025?":          "2",
		"What is the average total of invoices?":                "7.0",
		"What is the average total of invoices for each name?":  "Ada,7.0;Bo,7.0",
		"What is the highest total of invoices?":                "9.0",
		"What is the sum of the totals of Ada's invoices?":      "14.0",
		"What is the number of the invoice with the total of 7": "80",
		"How many invoices does Ada have?":                      "2",
		"What is the number of invoices?":                       "3",
	} {
		got := ask(t, d, datasets, question)
		if sorted(got, question) != sorted(want, question) {
			t.Errorf("%s\ngot  %s\nwant %s", question, got, want)
		}
	}
	for _, question := range []string{"Who are you?", "What is the weather in Berlin?", "Tell me a joke", "total sales by shoe size"} {
		if got := ask(t, d, datasets, question); !strings.HasPrefix(got, "error: ") {
			t.Errorf("%s\ngot %s, want no guess", question, got)
		}
	}
}
