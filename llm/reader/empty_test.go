package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader"
)

// TestWithoutRows answers questions that the data has no rows for, if they are read with
// confidence, and refuses those about values that it does not have.
func TestWithoutRows(t *testing.T) {
	t.Parallel()
	d, datasets := sweets(t)
	r := reader.New()
	for question, want := range map[string]string{
		"orders with amount over 1000":         "Read as: all columns of orders, only those with amount above 1,000.",
		"Which orders are from 2019?":          "Read as: all columns of orders, in 2019.",
		"Which orders have an amount below 3?": "Read as: all columns of orders, only those with amount below 3.",
		"Which orders are after June 2030?":    "Read as: all columns of orders, after June 2030.",
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
