package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// TestDurations asks for the time between two columns: it is the elapsed time, in a unit that
// fits.
func TestDurations(t *testing.T) {
	t.Parallel()
	r := reader.New()
	d := ducktest.New(t)
	for table, test := range map[string]struct {
		kind, rows string
		questions  map[string]string
	}{
		"tickets": {"TIMESTAMP", "(1, 'web', '2025-03-01 23:50:00', '2025-03-02 00:10:00'), (2, 'web', '2025-03-03 10:00:00', '2025-03-03 11:00:00')", map[string]string{
			"What is the average number of hours between opened at and closed at?":   `{"average_hours":0.6666666666666666}`,
			"What is the average time between opened at and closed at?":              `{"average_hours":0.6666666666666666}`,
			"What is the average number of minutes between opened at and closed at?": `{"average_minutes":40.0}`,
			"What is the average number of days between opened at and closed at?":    `{"average_days":0.027777777777777776}`,
		}},
		"repairs": {"TIMESTAMP", "(1, 'web', '2025-03-01 12:00:00', '2025-03-05 00:00:00'), (2, 'web', '2025-03-03 10:00:00', '2025-03-07 22:00:00')", map[string]string{
			"What is the average time between opened at and closed at?": `{"average_days":4.0}`,
		}},
		"loans": {"DATE", "(1, 'web', '2025-03-01', '2025-03-02'), (2, 'web', '2025-03-03', '2025-03-08')", map[string]string{
			"What is the average time between opened at and closed at?":           `{"average_days":3.0}`,
			"What is the average number of days between opened at and closed at?": `{"average_days":3.0}`,
		}},
	} {
		datasets := []llm.Dataset{d.Table(table, "id BIGINT, channel VARCHAR, opened_at "+test.kind+", closed_at "+test.kind, test.rows)}
		for question, want := range test.questions {
			q, err := r.WriteQuery(t.Context(), likely(d, datasets, question))
			if err != nil {
				t.Errorf("%s: %s: %v", table, question, err)
				continue
			}
			unit, _, _ := strings.Cut(strings.TrimPrefix(want, `{"average_`), `"`)
			if got := rowsOf(t, d, q.SQL); got != want || !strings.Contains(q.Reasoning, unit+" from opened at to closed at") {
				t.Errorf("%s: %s: %s: %s\n%s", table, question, got, q.Reasoning, q.SQL)
			}
		}
	}
}
