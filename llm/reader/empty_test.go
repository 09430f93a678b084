package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// A count of none, by a condition that no row can meet and nobody stated, is no answer: with a
// discount is not below 0.
func TestCountOfNone(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("orders", "order_id BIGINT, discount_percent BIGINT, tax_amount BIGINT, order_date DATE, status VARCHAR, total_eur BIGINT",
		"(1, 0, 0, '2024-01-05', 'shipped', 1), (2, 5, 2, '2024-02-05', 'pending', 2), (3, 10, 0, '2024-03-05', 'shipped', 3), (4, 0, 3, '2024-04-05', 'pending', 4)")}
	for _, question := range []string{"how many orders with a discount", "how many orders have a discount", "how many discounted orders"} {
		q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
		if err == nil && rowsOf(t, d, q.SQL) != `{"count":2}` {
			t.Errorf("%s: %s", question, q.SQL)
		}
	}
}

// TestWithoutRows answers questions that the data has no rows for, if they are read with
// confidence, and refuses those about values that it does not have.
func TestWithoutRows(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	for question, want := range map[string]string{
		"orders with amount over 1000":         "Read as: all columns of orders with amount above 1,000.",
		"Which orders are from 2019?":          "Read as: all columns of orders in 2019.",
		"Which orders have an amount below 3?": "Read as: all columns of orders with amount below 3.",
		"Which orders are after June 2030?":    "Read as: all columns of orders after June 2030.",
		"orders from Atlantis":                 "",
		"Which orders are from Atlantis?":      "",
		"orders with status shipped":           "",
		"List the bars made by Carl.":          "",
		"orders with weight over 1000":         "",
		"orders with a discount over 50":       "",
	} {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		var unanswerable *llm.UnanswerableError
		switch {
		case want == "" && !errors.As(err, &unanswerable):
			t.Errorf("%s: %s, %v", question, q.SQL, err)
		case want == "":
		case err != nil:
			t.Errorf("%s: %v", question, err)
		case rowsOf(t, d, q.SQL) != "" || !strings.HasPrefix(q.Reasoning, want):
			t.Errorf("%s: %s: %s", question, q.Reasoning, q.SQL)
		}
	}
}
