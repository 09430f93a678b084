package reader_test

import (
	"errors"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader"
	"parley/llm/reader/ducktest"
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
		q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
		if err != nil {
			t.Errorf("%s: %v", question, err)
			continue
		}
		if got := rowsOf(t, d, q.SQL); got != rows {
			t.Errorf("%s: %s, want %s: %s", question, got, rows, q.SQL)
		}
	}
}

// TestFigureOfText asks for figures of columns of texts, and for what is no figure of them.
func TestFigureOfText(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	datasets := []llm.Dataset{d.Table("films", "title VARCHAR, rating VARCHAR, studio VARCHAR, gross BIGINT",
		"('Up', 'PG', 'Elm', 100), ('It', 'R', 'Oak', 200), ('Ed', 'PG', 'Elm', 300), ('Oz', 'G', 'Ash', 400)")}
	checkRefused(t, d, datasets, []string{"What is the average rating?", "highest rating", "What is the total rating?", "Which studio has the highest average rating?", "median rating of films by studio",
		"What is the sum of the ratings?", "What is the maximum rating per studio?", "Which film has the lowest rating?"}, "“rating” of films is text", "“PG”")
	checkRefused(t, d, datasets, []string{"maximum title"}, "“title” of films is text")
	checkAnswered(t, d, datasets, map[string]string{
		"What is the average gross of films?":            `{"average_gross":250.0}`,
		"Which title has the highest gross?":             `{"title":"Oz","__gross":400}`,
		"What is the average gross for each rating?":     `{"rating":"G","average_gross":400.0};{"rating":"PG","average_gross":200.0};{"rating":"R","average_gross":200.0}`,
		"Which rating has the highest average gross?":    `{"rating":"G","__average_gross":400.0}`,
		"How many films are there for each rating?":      `{"rating":"PG","count":2};{"rating":"G","count":1};{"rating":"R","count":1}`,
		"What is the total number of different ratings?": `{"count":3}`,
	})
}
