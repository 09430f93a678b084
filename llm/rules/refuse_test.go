package rules

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
)

// sweets are the tables of a shop: one alone, or with others.
func sweets(tb testing.TB) (d *duck, alone, all []llm.Dataset) {
	tb.Helper()
	d = newDuck(tb)
	orders := d.table(tb, "orders", "id BIGINT, product VARCHAR, amount DOUBLE, status VARCHAR, ordered_on DATE",
		`(1, 'Truffle', 12.5, 'open', '2025-01-03'), (2, 'Nougat', 8, 'open', '2025-02-11'), (3, 'Truffle', 4, 'closed', '2025-02-20'), (4, 'Praline', 40, 'open', '2024-12-01')`)
	return d, []llm.Dataset{orders}, []llm.Dataset{orders,
		d.table(tb, "bars", "bar_id BIGINT, title VARCHAR, price DOUBLE, maker VARCHAR", `(1, 'Dark', 3, 'Ada'), (2, 'Milk', 2, 'Bo'), (3, 'White', 5, 'Ada')`),
		d.table(tb, "makers", "maker VARCHAR, town VARCHAR", `('Ada', 'Rome'), ('Bo', 'Oslo')`)}
}

// A question is refused when the query says nothing of one of its words, which the
// refusal names.
func TestUnreadWords(t *testing.T) {
	t.Parallel()
	d, alone, all := sweets(t)
	for question, word := range map[string]string{
		"How many orders are there by country?":                        "country",
		"What is the total amount by country?":                         "country",
		"How many orders are there for each warehouse?":                "warehouse",
		"What is the total amount of orders last month?":               "month",
		"How many orders were there last month?":                       "month",
		"What was the total amount yesterday?":                         "yesterday",
		"How many orders came from Berlin?":                            "Berlin",
		"How many orders were refunded?":                               "refunded",
		"How many orders were paid?":                                   "paid",
		"How many orders have 70 % cocoa?":                             "cocoa",
		"What is the average amount of organic orders?":                "organic",
		"What is the total amount of orders with free shipping?":       "shipping",
		"How many orders were not shipped?":                            "not",
		"Which products have the highest amount of sugar?":             "sugar",
		"What is the average amount of orders of returning customers?": "customers",
		"List the products of orders sorted by weight.":                "weight",
		"Show all orders ordered by popularity in descending order":    "popularity",
	} {
		for name, datasets := range map[string][]llm.Dataset{"alone": alone, "all": all} {
			q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d}, Instruction: question})
			var unanswerable *llm.UnanswerableError
			if !errors.As(err, &unanswerable) || !strings.Contains(err.Error(), "“"+word+"”") {
				t.Errorf("%s (%s): %v, %s", question, name, err, q.SQL)
			}
		}
	}
	for question, word := range map[string]string{
		"How many bars have 70 % cocoa?":                "cocoa",
		"Which bars have 70% cocoa?":                    "cocoa",
		"How many bars with 70 percent cocoa are there": "cocoa",
	} {
		q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: all, Data: d}, Instruction: question})
		if err == nil || !strings.Contains(err.Error(), "“"+word+"”") {
			t.Errorf("%s: %v, %s", question, err, q.SQL)
		}
	}
}

// What is not there is zero, or no rows: no condition is left out for more.
func TestTrueZero(t *testing.T) {
	t.Parallel()
	d, alone, all := sweets(t)
	for question, want := range map[string]string{
		"How many orders are there with an amount above 1000?":                        "0",
		"How many open orders have an amount above 100?":                              "0",
		"How many closed orders of Nougat are there?":                                 "0",
		"How many orders were there in 2019?":                                         "0",
		"Which products have an amount above 1000?":                                   "",
		"How many orders with the status closed have an amount greater than 50?":      "0",
		"How many orders of the product Praline have the status closed?":              "0",
		"How many orders of Truffle with the status open have an amount less than 2?": "0",
	} {
		for name, datasets := range map[string][]llm.Dataset{"alone": alone, "all": all} {
			if got := ask(t, d, datasets, question); got != want {
				t.Errorf("%s (%s)\n got %s\nwant %s", question, name, got, want)
			}
		}
	}
}

// Passages are never the answer to a question for a count, a sum or a trend.
func TestFiguresAreNotInPassages(t *testing.T) {
	t.Parallel()
	d, _, all := sweets(t)
	manual := d.table(t, "manual", "document VARCHAR, passage BIGINT, text VARCHAR",
		`('shipping.md', 1, 'Gift wrapping costs 3. The revenue of refunds and the trend of complaints is told to nobody.')`)
	for _, question := range []string{
		"How many complaints were there?", "What is the number of complaints?", "What is the total revenue of refunds?", "What is the sum of refunds?",
		"What is the average of complaints?", "How did the complaints develop?", "What is the trend of complaints?", "How many refunds per month?", "Count the refunds",
		"How have refunds changed over time?", "Show the growth of refunds", "Refunds by month",
	} {
		for _, datasets := range [][]llm.Dataset{{manual}, append(all[:len(all):len(all)], manual)} {
			if q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d}, Instruction: question}); err == nil {
				t.Errorf("%s: %+v", question, q.Search)
			}
		}
	}
	for _, question := range []string{"How much does gift wrapping cost?", "What about gift wrapping?"} {
		if q, err := New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: []llm.Dataset{manual}, Data: d}, Instruction: question}); err != nil || q.Search == nil {
			t.Errorf("%s: %v", question, err)
		}
	}
}

// A token of which nothing is left when it is folded is none.
func TestEmptyTokens(t *testing.T) {
	t.Parallel()
	d, alone, _ := sweets(t)
	for _, question := range []string{"❤️", "How many orders ❤️?", "️️", "\u0301", "5\ufe0f\u20e3 orders", "How many \ufe0f\ufe0f orders are there"} {
		for _, token := range tokenize(question) {
			if token.lower == "" {
				t.Errorf("%q: an empty token", question)
			}
		}
		_, _ = New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Datasets: alone, Data: d}, Instruction: question})
		_, _ = New().Plan(t.Context(), llm.Task{Question: question, Earlier: []llm.Turn{{Question: "How many orders ❤️?"}}})
		_ = nameWords(question)
	}
	if got := ask(t, d, alone, "How many orders are there? ❤️"); got != "4" {
		t.Errorf("got %s", got)
	}
}
