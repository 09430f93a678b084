package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// TestTwoWays asks which of two columns is meant.
func TestTwoWays(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("weather", "date DATE, station VARCHAR, temperature_c DOUBLE, rain_mm DOUBLE",
		"('2024-06-01', 'Bern', 21.5, 0), ('2024-06-02', 'Bern', 31, 0), ('2024-06-03', 'Bern', 18.2, 12.4), ('2024-06-04', 'Zug', 17.9, 3.1), ('2024-07-05', 'Zug', 33.4, 0)")}
	q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "What is the average?"))
	if err != nil || len(q.Readings) != 2 {
		t.Fatalf("%+v, %v", q, err)
	}
	if words := q.Readings[0].Words + q.Readings[1].Words; !strings.Contains(words, "temperature") || !strings.Contains(words, "rain") {
		t.Errorf("%+v", q.Readings)
	}
}
