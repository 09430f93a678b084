package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// checkRefused asks questions that must be refused with words.
func checkRefused(t *testing.T, d *ducktest.Duck, datasets []llm.Dataset, questions []string, words ...string) {
	t.Helper()
	r := reader.New()
	for _, question := range questions {
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		var refused *llm.UnanswerableError
		if !errors.As(err, &refused) {
			t.Errorf("%s: %s, %v", question, q.SQL, err)
			continue
		}
		for _, w := range words {
			if !strings.Contains(refused.Reason, w) {
				t.Errorf("%s: %s, want %q", question, refused.Reason, w)
			}
		}
	}
}

// checkAnswered asks questions whose rows must be these.
func checkAnswered(t *testing.T, d *ducktest.Duck, datasets []llm.Dataset, want map[string]string) {
	t.Helper()
	r := reader.New()
	for question, rows := range want {
		q, err := r.WriteQuery(t.Context(), likely(d, datasets, question))
		if err != nil {
			t.Errorf("%s: %v", question, err)
			continue
		}
		if got := rowsOf(t, d, q.SQL); got != rows {
			t.Errorf("%s: %s, want %s: %s", question, got, rows, q.SQL)
		}
	}
}

// checkRead asks a question whose reading must have words.
func checkRead(t *testing.T, d *ducktest.Duck, datasets []llm.Dataset, question, words string) {
	t.Helper()
	if q, err := reader.New().WriteQuery(t.Context(), step(d, datasets, question)); err != nil || !strings.Contains(q.Reasoning, words) {
		t.Errorf("%s: %q, %v, want %q", question, q.Reasoning, err, words)
	}
}

// TestFigureOfText asks for figures of columns of texts, and for what is no figure of them.
func TestFigureOfText(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("films", "title VARCHAR, rating VARCHAR, studio VARCHAR, gross BIGINT",
		"('Up', 'PG', 'Elm', 100), ('It', 'R', 'Oak', 200), ('Ed', 'PG', 'Elm', 300), ('Oz', 'G', 'Ash', 400)")}
	checkRefused(t, d, datasets, []string{"What is the average rating?", "highest rating", "What is the total rating?", "Which studio has the highest average rating?", "median rating of films by studio",
		"What is the sum of the ratings?", "What is the maximum rating per studio?", "Which film has the lowest rating?", "Which title has the best rating?"}, "“rating” of films is text", "“PG”")
	checkRefused(t, d, datasets, []string{"maximum title"}, "“title” of films is text")
	checkAnswered(t, d, datasets, map[string]string{
		"What is the average gross of films?":            `{"average_gross":250.0}`,
		"Which title has the highest gross?":             `{"title":"Oz","gross":400}`,
		"What is the average gross for each rating?":     `{"rating":"G","average_gross":400.0};{"rating":"PG","average_gross":200.0};{"rating":"R","average_gross":200.0}`,
		"Which rating has the highest average gross?":    `{"rating":"G","average_gross":400.0}`,
		"How many films are there for each rating?":      `{"rating":"PG","count":2};{"rating":"G","count":1};{"rating":"R","count":1}`,
		"What is the total number of different ratings?": `{"count":3}`,
	})
}

// TestNumbersWithUnits asks about texts that are numbers with different units, and with multipliers.
func TestNumbersWithUnits(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("parcels", "parcel VARCHAR, city VARCHAR, weight VARCHAR, price BIGINT",
		"('A1', 'Berlin', '2 kg', 10), ('A2', 'Paris', '500 g', 20), ('A3', 'Rome', '1.5 kg', 30), ('A4', 'Berlin', '750 g', 40)")}
	checkRefused(t, d, datasets, []string{"What is the total weight?", "Which parcel has the highest weight?", "What is the average weight by city?", "parcels with weight over 100"},
		"“weight” of parcels is text", "different units", "kg”", " g”")
	checkAnswered(t, d, datasets, map[string]string{"What is the total price?": `{"total_price":100}`})
	datasets = []llm.Dataset{d.Table("companies", "name VARCHAR, city VARCHAR, revenue VARCHAR, employees BIGINT",
		"('Acme', 'Berlin', '$3.4B', 1200), ('Bolt', 'Paris', '$850K', 40), ('Cord', 'Berlin', '$12.5M', 300), ('Dune', 'Rome', '$900M', 700), ('Echo', 'Paris', NULL, 9)")}
	checkAnswered(t, d, datasets, map[string]string{
		"Which company has the highest revenue?":                    `{"name":"Acme","revenue":3400000000.0}`,
		"What is the total revenue?":                                `{"total_revenue":4313350000.0}`,
		"How many companies have a revenue of more than 1 million?": `{"count":3}`,
	})
	datasets = []llm.Dataset{d.Table("bids", "name VARCHAR, amount VARCHAR", "('Ann', '€5'), ('Bo', '$7'), ('Cy', '€9')")}
	checkRefused(t, d, datasets, []string{"What is the total amount?", "Which name has the highest amount?"}, "“amount” of bids is text", "different units")
}

// TestUndecidedForms asks about texts that are numbers or dates in a form that nothing decides.
func TestUndecidedForms(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("shipments", "shipment VARCHAR, dest VARCHAR, distance VARCHAR, sent VARCHAR",
		"('S1', 'Berlin', '1.234', '01/02/2024'), ('S2', 'Paris', '2.345', '03/04/2024'), ('S3', 'Rome', '1.500', '05/06/2024')")}
	checkRefused(t, d, datasets, []string{"What is the total distance?", "Which shipment has the highest distance?", "What is the average distance by dest?"},
		"“distance” of shipments is text", "“1.234”", `--retype "distance=integer"`)
	checkRefused(t, d, datasets, []string{"How many shipments were sent in February 2024?", "When was the latest shipment sent?", "How many shipments were sent per month?"},
		"“sent” of shipments is text", "“01/02/2024”", `--retype "sent=date:dmy"`)
	d = ducktest.New(t)
	datasets = []llm.Dataset{d.Table("shipments", "shipment VARCHAR, distance VARCHAR, sent VARCHAR",
		"('S1', '1.234,5', '01/02/2024'), ('S2', '2.345', '03/04/2024'), ('S3', '1.500', '25/02/2024')")}
	checkAnswered(t, d, datasets, map[string]string{
		"What is the total distance?":                    `{"total_distance":5079.5}`,
		"How many shipments were sent in February 2024?": `{"count":2}`,
	})
	// The question decides.
	datasets = []llm.Dataset{d.Table("games", "game VARCHAR, attendance VARCHAR", "('G1', '29,845'), ('G2', '41,200'), ('G3', '56,001')")}
	checkRefused(t, d, datasets, []string{"What is the total attendance?"}, `--retype "attendance=integer"`)
	checkAnswered(t, d, datasets, map[string]string{"How many games have an attendance over 40,000?": `{"count":2}`})
}
