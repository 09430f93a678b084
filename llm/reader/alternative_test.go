package reader_test

import (
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// workshop has two dates, so that "in 2025" may mean either.
func workshop(tb testing.TB) (*ducktest.Duck, []llm.Dataset) {
	tb.Helper()
	d := ducktest.New(tb)
	return d, []llm.Dataset{d.Table("work_orders", "order_no BIGINT, work_type VARCHAR, mechanic VARCHAR, opened DATE, done DATE, hours DOUBLE",
		`(1, 'oil change', 'Ada', '2024-12-30', '2025-01-03', 1), (2, 'brakes', 'Bo', '2025-02-01', '2025-02-11', 3),
(3, 'oil change', 'Cy', '2025-02-20', '2025-03-01', 1.5), (4, 'tyres', 'Ada', '2024-12-01', '2024-12-05', 2)`)}
}

// TestTwoReadings returns both readings of a question that are about equally likely, in words
// that differ. The end-to-end tests ask this question, too.
func TestTwoReadings(t *testing.T) {
	t.Parallel()
	d, datasets := workshop(t)
	q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "How many work orders were there in 2025?"))
	if err != nil || len(q.Readings) != 2 || q.Readings[0].SQL != q.SQL || q.Readings[1].SQL == q.SQL {
		t.Fatalf("%+v, %v", q, err)
	}
	if q.Confidence >= 1 || !strings.Contains(q.Reasoning, q.Readings[0].Words) {
		t.Errorf("the first reading: %+v", q)
	}
	words := []string{q.Readings[0].Words, q.Readings[1].Words}
	slices.Sort(words)
	if want := []string{"number of work orders with done in 2025", "number of work orders with opened in 2025"}; !slices.Equal(words, want) {
		t.Errorf("read as %q, want %q", words, want)
	}
	if first, second := rowsOf(t, d, q.Readings[0].SQL), rowsOf(t, d, q.Readings[1].SQL); first == second {
		t.Errorf("both give %s", first)
	}
	// What names the date has one reading, and so has what is left once a query failed.
	if q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "How many work orders were opened in 2025?")); err != nil || len(q.Readings) > 0 {
		t.Errorf("with the date: %+v, %v", q, err)
	}
	failed := step(d, datasets, "How many work orders were there in 2025?")
	failed.Failed = []llm.FailedQuery{{SQL: q.SQL}}
	if q, err := reader.New().WriteQuery(t.Context(), failed); err == nil && slices.ContainsFunc(q.Readings, func(r llm.Reading) bool { return r.SQL == failed.Failed[0].SQL }) {
		t.Errorf("offered again: %+v", q)
	}
}
