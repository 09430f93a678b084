package dialog_test

import (
	"testing"

	"parley/internal/locale"
	"parley/llm"
	"parley/llm/reader/dialog"
)

// What changed is said with the figures of before and now, the largest change first.
func TestChange(t *testing.T) {
	t.Parallel()
	figure := []string{"total_amount"}
	cities := []string{"city", "total_amount"}
	for _, test := range []struct {
		name        string
		before, now llm.Rows
		want        string
	}{
		{"the same", rowsOf(figure, `{"total_amount": 5}`), rowsOf(figure, `{"total_amount": 5}`), ""},
		{"a figure", rowsOf(figure, `{"total_amount": 1160}`), rowsOf(figure, `{"total_amount": 1020.5}`), "The total amount fell by 12 % from 1,160.00 to 1,020.50."},
		{"a figure that was none", rowsOf(figure, `{"total_amount": null}`), rowsOf(figure, `{"total_amount": 2}`), "The total amount is 2 now, and was not recorded."},
		{"a row of several values", rowsOf([]string{"count", "total_amount", "city"}, `{"count": 3, "total_amount": 10, "city": "Oslo"}`), rowsOf([]string{"count", "total_amount", "city"}, `{"count": 4, "total_amount": 10, "city": "Rome"}`), "The count rose by 33 % from 3 to 4. The city is Rome now, and was Oslo."},
		{"the same groups in another order", rowsOf(cities, `{"city": "Oslo", "total_amount": 4}`, `{"city": "Rome", "total_amount": 4}`),
			rowsOf(cities, `{"city": "Rome", "total_amount": 4}`, `{"city": "Oslo", "total_amount": 4}`), ""},
		{"groups", rowsOf(cities, `{"city": "Oslo", "total_amount": 4}`, `{"city": "Rome", "total_amount": 8}`, `{"city": "Bern", "total_amount": 1}`),
			rowsOf(cities, `{"city": "Rome", "total_amount": 2}`, `{"city": "Oslo", "total_amount": 5}`, `{"city": "*Nice*", "total_amount": 3}`),
			`The total amount changed for 2 of 3 cities: Rome fell by 75 % from 8 to 2; Oslo rose by 25 % from 4 to 5. New: 1: \*Nice\* 3. Gone: 1: Bern.`},
		{"more than are known", llm.Rows{Truncated: true, Total: 3000}, llm.Rows{Truncated: true, Total: 2900}, "There are 2,900 rows now, and were 3,000."},
		{"more than were counted", llm.Rows{Truncated: true, Total: 3000}, llm.Rows{Truncated: true}, ""},
		{"another measure of groups", rowsOf([]string{"city", "count", "total_amount"}, `{"city": "Oslo", "count": 4, "total_amount": 1}`, `{"city": "Rome", "count": 4, "total_amount": 2}`),
			rowsOf([]string{"city", "count", "total_amount"}, `{"city": "Oslo", "count": 4, "total_amount": 1}`, `{"city": "Rome", "count": 4, "total_amount": 3}`), "1 row new, 1 gone. There are 2 rows now."},
		{"rows", rowsOf([]string{"name"}, `{"name":"a"}`, `{"name":"b"}`), rowsOf([]string{"name"}, `{"name":"b"}`, `{"name":"c"}`, `{"name":"b"}`), "2 rows new, 1 gone. There are 3 rows now."},
	} {
		if got := dialog.Change(test.before, llm.Step{Rows: test.now}, locale.NumbersOf("en")); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
