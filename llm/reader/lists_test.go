package reader_test

import (
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// TestLists finds a value in cells that hold several, and does not take these cells for values.
func TestLists(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("respondents", "name VARCHAR, gender VARCHAR, countries_visited VARCHAR", `('Ann', 'female', 'Japan'), ('Bob', 'male', 'Peru, Japan'),
		('Cid', 'male', 'Japan, Norway, Peru'), ('Dot', 'female', 'Norway'), ('Eve', 'female', 'Norway, Japan'), ('Fay', 'female', 'Peru, Norway'), ('Gil', 'male', 'Norway, Peru, Japan'), ('Hal', 'male', NULL)`)}
	checkAnswers(t, d, datasets, map[string]string{
		"How many respondents have visited Japan?":       `{"count":5}`,
		"How many female respondents have visited Peru?": `{"count":1}`,
	})
	if q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, "How many respondents visited each country?")); err == nil && strings.Contains(q.SQL, `GROUP BY "countries_visited"`) && len(q.Readings) == 0 {
		t.Errorf("groups are not values: %s", q.SQL)
	}
}
