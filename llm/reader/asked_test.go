package reader_test

import (
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
)

// TestAskedColumn shows the column that a question asks for, also if its name is a general
// word.
func TestAskedColumn(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("orders", "item VARCHAR, price DOUBLE, city VARCHAR, day DATE",
		"('apple', 1.5, 'Berlin', '2024-01-03'), ('pear', 2, 'Paris', '2024-01-04'), ('fig', 3.25, 'Berlin', '2024-01-05'), ('lime', 0.75, 'Rome', '2024-01-06')")}
	for question, q := range checkAnswers(t, d, datasets, map[string]string{
		"Which item has the highest price?": `{"item":"fig","price":3.25}`,
		"Which item has the lowest price?":  `{"item":"lime","price":0.75}`,
		"Which city has the highest price?": `{"city":"Berlin","price":3.25}`,
		"Which item is the most expensive?": `{"item":"fig","price":3.25}`,
	}) {
		if len(q.Readings) > 0 {
			t.Errorf("%s: %+v", question, q.Readings)
		}
	}
}

// TestNamesOfRows shows the column that is called as a row is, also if it identifies the rows.
func TestNamesOfRows(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("teams", "team VARCHAR, city VARCHAR, won BIGINT", "('Lions', 'Bern', 6), ('Bears', 'Basel', 4), ('Wolves', 'Zug', 5)")}
	checkAnswers(t, d, datasets, map[string]string{
		"list the teams":          `{"team":"Lions"};{"team":"Bears"};{"team":"Wolves"}`,
		"team with the most wins": `{"team":"Lions","won":6}`,
		"Which team won most?":    `{"team":"Lions","total_won":6}`,
	})
}
