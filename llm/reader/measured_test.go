package reader_test

import (
	"errors"
	"slices"
	"testing"

	"parley/llm"
	"parley/llm/reader"
	"parley/llm/reader/ducktest"
)

// TestUnknownMeasures refuses figures of what the data does not have, and names it.
func TestUnknownMeasures(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("invoices", "invoice_id BIGINT, amount BIGINT, client VARCHAR", "(1, 100, 'Ann'), (2, 110, 'Bo'), (3, 150, 'Ann')")}
	r := reader.New()
	for question, word := range map[string]string{
		"total bribes": "bribes", "sum of taxes": "taxes", "total discounts": "discounts", "total amount of bribes": "bribes",
	} {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) || !slices.Contains(refused.Words, word) {
			t.Errorf("%s: %s, %v", question, q.SQL, err)
		}
	}
	for _, question := range []string{"total amount", "total amount of invoices", "What is the total amount by client?"} {
		if _, err := r.WriteQuery(t.Context(), step(d, datasets, question)); err != nil {
			t.Errorf("%s: %v", question, err)
		}
	}
}
