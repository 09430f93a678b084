package e2etest

import "testing"

// GardenModel answers the questions about the garden: correctly, wrongly, not at all, and
// with a failure.
func GardenModel(t *testing.T) *StandinModel {
	t.Helper()
	return NewModel(t,
		Queries("How many plants are there?", "", "SELECT count(*) AS n FROM plants"),
		Queries("average height", "", "SELECT max(height_cm) AS height, NULL AS nothing FROM plants"),
		Queries("ordered by height", "", "SELECT name FROM plants ORDER BY height_cm"),
		Queries("in each bed", "", "SELECT bed, count(*) FROM plants GROUP BY bed"),
		ModelLine{Job: QueryJob, Words: "price of the tomato", Says: ToJSON(map[string]any{"reasoning": "", "unanswerable": "No dataset tells of prices.", "sql": "", "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0})},
		Queries("did Ida Berg guide", "", `SELECT "Walk" FROM walks WHERE "Guide" = 'Nobody'`),
		Queries("Lake shore walk", "", `SELECT "Guide" FROM walks WHERE "Walk" = 'Lake shore'`),
	)
}
