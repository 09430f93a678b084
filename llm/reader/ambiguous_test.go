package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader"
	"parley/llm/reader/ducktest"
)

// TestTwoWays suggests a question for each of two readings, and answers both.
func TestTwoWays(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("weather", "date DATE, station VARCHAR, temperature_c DOUBLE, rain_mm DOUBLE, wind_kmh BIGINT",
		"('2024-06-01', 'Bern', 21.5, 0, 10), ('2024-06-02', 'Bern', 31, 0, 12), ('2024-06-03', 'Bern', 18.2, 12.4, 30), ('2024-06-04', 'Zug', 17.9, 3.1, 22), ('2024-07-05', 'Zug', 33.4, 0, 8)")}
	r := reader.New()
	q, err := r.WriteQuery(t.Context(), step(d, datasets, "average per month"))
	var refused *llm.UnanswerableError
	if !errors.As(err, &refused) || !strings.Contains(refused.Reason, "two ways") || len(refused.Suggestions) != 2 {
		t.Fatalf("%s, %+v", q.SQL, err)
	}
	for _, question := range refused.Suggestions {
		if _, err := r.WriteQuery(t.Context(), step(d, datasets, question)); err != nil {
			t.Errorf("%s: %v", question, err)
		}
	}
}
