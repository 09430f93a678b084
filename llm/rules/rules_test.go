package rules

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"parley/llm"
)

// kennel is a DuckDB with a small world in it.
func kennel(tb testing.TB) (*duck, []llm.Dataset) {
	tb.Helper()
	d := newDuck(tb)
	for _, statement := range []string{
		`CREATE TABLE owners (owner_id BIGINT, name VARCHAR, town VARCHAR)`,
		`INSERT INTO owners VALUES (1, 'Ann', 'Rome'), (2, 'Bo', 'Oslo'), (3, 'Cy', 'Rome'), (4, 'Di', 'Bern')`,
		`CREATE TABLE dogs (dog_id BIGINT, name VARCHAR, breed VARCHAR, age BIGINT, owner_id BIGINT, born VARCHAR)`,
		`INSERT INTO dogs VALUES (1, 'Rex', 'poodle', 3, 1, '12 March 2019'), (2, 'Fido', 'beagle', 7, 1, '1 May 2015'),
			(3, 'Spot', 'poodle', 5, 2, '3 June 2017'), (4, 'Lad', 'collie', 9, 3, '30 July 2013')`,
	} {
		if _, err := d.db.Exec(statement); err != nil {
			tb.Fatal(err)
		}
	}
	column := func(name, kind string) llm.Column { return llm.Column{Name: name, Type: kind} }
	return d, []llm.Dataset{
		{Name: "owners", Version: "1", Rows: 4, Columns: []llm.Column{column("owner_id", "BIGINT"), column("name", "VARCHAR"), column("town", "VARCHAR")}},
		{Name: "dogs", Version: "1", Rows: 4, Columns: []llm.Column{column("dog_id", "BIGINT"), column("name", "VARCHAR"),
			column("breed", "VARCHAR"), column("age", "BIGINT"), column("owner_id", "BIGINT"), column("born", "VARCHAR")}},
	}
}

// ask writes a query for a question and runs it; it gives the rows as text.
func ask(tb testing.TB, d *duck, datasets []llm.Dataset, question string) string {
	tb.Helper()
	q, err := New().WriteQuery(context.Background(), llm.QueryTask{Task: llm.Task{Question: question, Datasets: datasets, Data: d}, Instruction: question})
	if err != nil {
		return "error: " + err.Error()
	}
	rows, err := d.Query(context.Background(), q.SQL)
	if err != nil {
		tb.Fatalf("%s\n%s\n%v", question, q.SQL, err)
	}
	_, cells := cellsRaw(rows)
	var lines []string
	for _, row := range cells {
		lines = append(lines, strings.Join(row, ","))
	}
	return strings.Join(lines, ";")
}

// sorted puts rows in order, unless the question asks for one.
func sorted(rows, question string) string {
	if strings.Contains(question, "order of") {
		return rows
	}
	lines := strings.Split(rows, ";")
	slices.Sort(lines)
	return strings.Join(lines, ";")
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	for question, want := range map[string]string{
		"How many dogs are there?":                            "4",
		"What is the average age of dogs?":                    "6.0",
		"What are the names of dogs older than 4?":            "Fido;Spot;Lad",
		"How many dogs are poodles?":                          "2",
		"What is the name of the oldest dog?":                 "Lad",
		"List the names of owners from Rome.":                 "Ann;Cy",
		"Show the names of owners without any dogs.":          "Di",
		"Which owner has the most dogs?":                      "Ann",
		"What are the names of owners with at least 2 dogs?":  "Ann",
		"What is the maximum age of dogs of the breed poodle": "5",
	} {
		if got := ask(t, d, datasets, question); got != want {
			t.Errorf("%s\n got %s\nwant %s", question, got, want)
		}
	}
}

func TestNotUnderstood(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	_, err := New().WriteQuery(context.Background(), llm.QueryTask{Task: llm.Task{Datasets: datasets, Data: d},
		Instruction: "Which quantum flux capacitors exploded yesterday?"})
	var unanswerable *llm.UnanswerableError
	if !errors.As(err, &unanswerable) || !strings.Contains(err.Error(), "capacitors") {
		t.Fatalf("got %v", err)
	}
}
