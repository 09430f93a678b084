package reader_test

import (
	"errors"
	"slices"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
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

// TestUnknownCounts refuses to count what the data does not have. Other words for a dataset are
// understood.
func TestUnknownCounts(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{
		d.Table("bikes", "bike_id BIGINT, model VARCHAR, price DOUBLE", "(1, 'Roadster', 900), (2, 'Gravel', 1200)"),
		d.Table("rentals", "rental_id BIGINT, bike_id BIGINT, day DATE, minutes BIGINT", "(1, 1, '2024-01-01', 30), (2, 2, '2024-01-02', 40), (3, 2, '2024-01-03', 40)"),
	}
	for _, word := range []string{"helmets", "staff", "bills"} {
		for _, question := range []string{"how many " + word + " are there", "number of " + word} {
			q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question))
			var refused *llm.UnanswerableError
			if !errors.As(err, &refused) || !slices.Contains(refused.Words, word) {
				t.Errorf("%s: %s, %v", question, q.SQL, err)
			}
		}
	}
	checkAnswers(t, d, datasets, map[string]string{"how many bikes are there": `{"count":2}`, "number of bicycles": `{"count":2}`, "how many records are there in rentals": `{"count":3}`})
}
