package reader_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
	"parley/llm/reader/dialog"
	"parley/llm/reader/link"
)

// rental is a shop that rents bikes: datasets of rows and two of passages.
func rental(t *testing.T) (d *ducktest.Duck, rows, passages []llm.Dataset) {
	t.Helper()
	d = ducktest.New(t)
	d.Exec("CREATE TABLE guide (document VARCHAR, passage BIGINT, text VARCHAR)", "CREATE TABLE manual (document VARCHAR, passage BIGINT, text VARCHAR)",
		`INSERT INTO guide VALUES
		 ('brakes.md',1,'Brakes squeal when they are wet. Clean the rims and adjust the pads.'),
		 ('deposit.md',1,'We keep a deposit of 50 euros until you bring the bike back. In bad weather we refund it at once.'),
		 ('tyres.md',1,'Plump tyres roll best. Inflate them to 4 bar.')`,
		`INSERT INTO manual VALUES
		 ('shop/returns-policy.md',1,'Opening hours are from nine to five.'), ('shop/returns-policy.md',2,'Bring goods back within 14 days.'),
		 ('shipping.txt',1,'Gift wrapping costs 3. The revenue of refunds and the trend of complaints is told to nobody.')`)
	passage := []llm.Column{{Name: "document", Type: "VARCHAR"}, {Name: "passage", Type: "BIGINT"}, {Name: "text", Type: "VARCHAR"}}
	for _, name := range []string{"riders", "bikes", "rentals"} {
		rows = append(rows, llm.Dataset{Name: name, Rows: 5, Columns: []llm.Column{{Name: "id", Type: "BIGINT"}}})
	}
	return d, rows, []llm.Dataset{
		{Name: "guide", Description: "Advice for riders: brakes, tyres, deposit.", Rows: 3, Columns: passage},
		{Name: "manual", Rows: 3, Columns: passage},
	}
}

// search returns the dataset that a question is searched in, or "" for none.
func search(t *testing.T, d llm.Data, question string, rows, passages []llm.Dataset) string {
	t.Helper()
	q, ok, err := dialog.Search(t.Context(), d, link.Tokenize(question), rows, passages)
	switch {
	case err != nil:
		t.Fatalf("%s: %v", question, err)
	case !ok:
		return ""
	case q.Search != nil:
		return q.Search.Dataset
	}
	result, err := d.Query(t.Context(), q.SQL)
	if err != nil || len(result.Rows) == 0 {
		t.Fatalf("%s: %s: %v", question, q.SQL, err)
	}
	var row struct {
		Document string
		Passage  int
	}
	if err := json.Unmarshal(result.Rows[0], &row); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%s %d", row.Document, row.Passage)
}

// TestSearchOrRefuse has only those questions looked for in texts that the texts
// speak of.
func TestSearchOrRefuse(t *testing.T) {
	t.Parallel()
	d, rows, passages := rental(t)
	for question, want := range map[string]string{
		"Why do brakes squeal?":                                             "guide",
		"How do I inflate a tyre?":                                          "guide",
		"How high is the deposit?":                                          "guide",
		"How many euros is the deposit?":                                    "guide",
		"Is there a deposit in Norway?":                                     "guide",
		"deposit rules":                                                     "guide",
		"How much does gift wrapping cost?":                                 "manual",
		"What about gift wrapping?":                                         "manual",
		"When are you open: what are the hours?":                            "manual",
		"xyzzy plugh":                                                       "", // "plump" is another word
		"Tell me about the weather tomorrow":                                "",
		"What is the capital of France?":                                    "",
		"How many mechanics do we have?":                                    "",
		"Which mechanic adjusts the most?":                                  "",
		"Which riders have the same town?":                                  "",
		"What was the profit of the workshop?":                              "",
		"Show the bikes with a deposit above 50":                            "",
		"Which bikes have the highest deposit?":                             "",
		"List riders from Ulm":                                              "",
		"How much was refunded in 2024?":                                    "",
		"How much deposit was refunded in Q4?":                              "",
		"Which tyres cost more than 20 euros?":                              "",
		"What share of deposits was refunded?":                              "",
		"How many days do I have to bring back goods that came with bikes?": "manual",
		"bikes":                                "",
		"":                                     "",
		"What does brakes.md say?":             "brakes.md 1",
		"How many rules are in deposit.md?":    "deposit.md 1",
		"What does the shipping document say?": "shipping.txt 1",
		"What is the returns policy?":          "shop/returns-policy.md 1",
		"How many days does the returns policy allow?": "shop/returns-policy.md 2",
		"Show shop/returns-policy.md":                  "shop/returns-policy.md 1",
	} {
		if got := search(t, d, question, rows, passages); got != want {
			t.Errorf("%s: got %q, want %q", question, got, want)
		}
	}
}

// Passages are never the answer to a question for a count, a sum or a trend.
func TestFiguresAreNotInPassages(t *testing.T) {
	t.Parallel()
	d, rows, passages := rental(t)
	for _, question := range []string{
		"How many complaints were there?", "What is the number of complaints?", "What is the total revenue of refunds?", "What is the sum of refunds?",
		"What is the average of complaints?", "How did the complaints develop?", "What is the trend of complaints?", "How many refunds per month?", "Count the refunds",
		"How have refunds changed over time?", "Show the growth of refunds", "Refunds by month",
	} {
		for _, others := range [][]llm.Dataset{nil, rows} {
			if got := search(t, d, question, others, passages); got != "" {
				t.Errorf("%s: %s", question, got)
			}
		}
	}
}

// Passages are found by what they mean, if they have other words than the question.
func TestPassagesByMeaning(t *testing.T) {
	t.Parallel()
	d, rows, passages := rental(t)
	for question, want := range map[string]string{
		"What can I do against the noise when I slow down?": "brakes.md", "Do I get my money back after rain?": "deposit.md", "How much air do the wheels need?": "tyres.md",
		"Who is the king of Spain?": "",
	} {
		q, err := reader.New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Question: question, Datasets: passages[:1], Data: d}, Instruction: question})
		if want == "" {
			if err == nil {
				t.Errorf("%s: %+v", question, q)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", question, err)
		}
		result, err := d.Query(t.Context(), q.SQL)
		if err != nil || len(result.Rows) == 0 || !strings.Contains(string(result.Rows[0]), want) {
			t.Errorf("%s: %s, %v: %s", question, q.SQL, err, result.Rows)
		}
	}
	// A question for figures is none of text.
	if q, err := reader.New().WriteQuery(t.Context(), llm.QueryTask{Task: llm.Task{Question: "How many complaints were there?", Datasets: append(rows, passages...), Data: d}, Instruction: "How many complaints were there?"}); err == nil && strings.Contains(q.SQL, "passage") {
		t.Errorf("a figure is read from passages: %s", q.SQL)
	}
}

func TestSearchReports(t *testing.T) {
	t.Parallel()
	d, rows, passages := rental(t)
	tokens := link.Tokenize("Why do brakes squeal?")
	q, ok, err := dialog.Search(t.Context(), d, tokens, rows, passages)
	if err != nil || !ok || q.Search.Words != "brakes squeal" || !strings.Contains(q.Reasoning, "guide") || q.Confidence != 0 {
		t.Errorf("%+v, %v", q, err)
	}
	if _, ok, err := dialog.Search(t.Context(), d, tokens, rows, nil); ok || err != nil {
		t.Errorf("without passages: %v, %v", ok, err)
	}
	broken := errors.New("broken")
	if _, _, err := dialog.Search(t.Context(), failingData{d, "", broken}, tokens, rows, passages); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
	if _, ok, err := dialog.Search(t.Context(), failingData{d, "", llm.ErrBadQuery}, tokens, rows, passages); ok || err != nil {
		t.Errorf("a query that is not valid: %v, %v", ok, err)
	}
}
