package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// TestTies shows all that tie with the first, and follows up on them.
func TestTies(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("orders", "order_id BIGINT, order_date DATE, product VARCHAR, city VARCHAR, amount BIGINT",
			"(1, '2024-01-03', 'Desk', 'Bern', 130), (2, '2024-01-20', 'Chair', 'Bern', 60), (3, '2024-02-02', 'Desk', 'Zug', 130), (4, '2024-02-11', 'Chair', 'Bern', 30), (5, '2024-02-12', 'Lamp', 'Bern', 20)"),
	}
	for question, q := range checkAnswers(t, d, datasets, map[string]string{
		"Which product has the most orders?":     `{"product":"Chair","count":2};{"product":"Desk","count":2}`,
		"Which city has the most orders?":        `{"city":"Bern","count":4}`,
		"Which product has the lowest amount?":   `{"product":"Lamp","amount":20}`,
		"top 1 product by number of orders":      `{"product":"Chair","count":2};{"product":"Desk","count":2}`,
		"Which products have the fewest orders?": `{"product":"Lamp","count":1}`,
		"top 2 products by number of orders":     `{"product":"Chair","count":2};{"product":"Desk","count":2}`,
	}) {
		if tied := strings.Contains(q.SQL, "QUALIFY"); tied != strings.Contains(q.Reasoning, " tie ") {
			t.Errorf("%s: %s %s", question, q.SQL, q.Reasoning)
		}
	}
	const question = "Which product has the most orders?"
	first, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
	if err != nil {
		t.Fatal(err)
	}
	next := step(d, datasets, "only in Bern")
	next.Earlier = []llm.Turn{{Question: question, Queries: []string{first.SQL}}}
	q, err := reader.New().WriteQuery(t.Context(), next)
	if err != nil || rowsOf(t, d, q.SQL) != `{"product":"Chair","count":2}` {
		t.Errorf("%s: %v", q.SQL, err)
	}
}
