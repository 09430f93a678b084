package reader_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader"
)

// kennel is two small tables.
func kennel(tb testing.TB) (*ducktest.Duck, []llm.Dataset) {
	tb.Helper()
	d := ducktest.New(tb)
	return d, []llm.Dataset{
		d.Table("owners", "owner_id BIGINT, name VARCHAR, town VARCHAR", "(1, 'Ann', 'Rome'), (2, 'Bo', 'Oslo'), (3, 'Cy', 'Rome'), (4, 'Di', 'Bern')"),
		d.Table("dogs", "dog_id BIGINT, name VARCHAR, breed VARCHAR, age BIGINT, owner_id BIGINT, born DATE",
			"(1, 'Rex', 'poodle', 3, 1, '2019-03-12'), (2, 'Fido', 'beagle', 7, 1, '2015-05-01'), (3, 'Spot', 'poodle', 5, 2, '2017-06-03'), (4, 'Lad', 'collie', 9, 3, '2013-07-30')"),
	}
}

// rowsOf runs a query and gives its rows as text.
func rowsOf(tb testing.TB, data llm.Data, sql string) string {
	tb.Helper()
	rows, err := data.Query(context.Background(), sql)
	if err != nil {
		tb.Fatalf("%s: %v", sql, err)
	}
	var lines []string
	for _, r := range rows.Rows {
		lines = append(lines, string(r))
	}
	return strings.Join(lines, ";")
}

func step(data llm.Data, datasets []llm.Dataset, question string) llm.QueryTask {
	return llm.QueryTask{Task: llm.Task{Question: question, Datasets: datasets, Data: data, Now: now}, Instruction: question}
}

// likely is a step that a likely reading answers too: for tests of how a query is written, not of
// the confidence.
func likely(data llm.Data, datasets []llm.Dataset, question string) llm.QueryTask {
	task, least := step(data, datasets, question), llm.LikelyConfidence
	task.MinConfidence = &least
	return task
}

// TestWriteQuery reads questions about real tables, twice each.
func TestWriteQuery(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	r := reader.New()
	for question, want := range map[string]string{
		"How many dogs are there?":            `{"count":4}`,
		"How many poodles are there?":         `{"count":2}`,
		"What is the average age of dogs?":    `{"average_age":6.0}`,
		"List the names of owners from Rome.": `{"name":"Ann"};{"name":"Cy"}`,
		"Which owners have no dogs?":          `{"name":"Di"}`,
	} {
		var before string
		for range 2 {
			q, err := r.WriteQuery(t.Context(), step(d, datasets, question))
			if err != nil {
				t.Fatalf("%s: %v", question, err)
			}
			if got := rowsOf(t, d, q.SQL); got != want {
				t.Errorf("%s\n%s\n got %s\nwant %s", question, q.SQL, got, want)
			}
			if before != "" && before != q.SQL || q.Confidence <= 0 || q.Confidence > 1 || !strings.HasPrefix(q.Reasoning, "Read as: ") {
				t.Errorf("%s: first %q, then %+v", question, before, q)
			}
			before = q.SQL
		}
	}
	q, err := r.WriteQuery(t.Context(), step(d, datasets, "How many dogs are there for each town?"))
	if err != nil || !strings.Contains(q.Reasoning, "Joined by dogs.owner_id = owners.owner_id.") {
		t.Errorf("%+v, %v", q, err)
	}
	if n := d.Queries.Load(); n > 140 {
		t.Errorf("%d queries", n)
	}
}

// TestRetryGivesAnotherQuery writes a query that did not fail before.
func TestRetryGivesAnotherQuery(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	r := reader.New()
	task := step(d, datasets, "List the names of owners from Rome.")
	first, err := r.WriteQuery(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	task.Failed = []llm.FailedQuery{{SQL: first.SQL, Reason: "no"}}
	second, err := r.WriteQuery(t.Context(), task)
	var unanswerable *llm.UnanswerableError
	if err == nil && second.SQL == first.SQL || err != nil && !errors.As(err, &unanswerable) {
		t.Errorf("got %q, %v", second.SQL, err)
	}
}

// TestEmptyQuestion refuses what cannot be read.
func TestEmptyQuestion(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	for _, task := range []llm.QueryTask{step(d, datasets, " ?"), step(d, datasets, ""), step(d, nil, "How many dogs are there?")} {
		var unanswerable *llm.UnanswerableError
		if _, err := reader.New().WriteQuery(t.Context(), task); !errors.As(err, &unanswerable) {
			t.Errorf("%q: %v", task.Instruction, err)
		}
	}
}

// unavailableData fails every query after it is switched off.
type unavailableData struct {
	llm.Data
	with error
}

func (a *unavailableData) Query(ctx context.Context, sql string) (llm.Rows, error) {
	if a.with != nil {
		return llm.Rows{}, a.with
	}
	return a.Data.Query(ctx, sql)
}

// TestDataUnavailable checks that unavailable data is not reported as a question that is
// not understood.
func TestDataUnavailable(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	data := &unavailableData{Data: d}
	r := reader.New()
	task := step(data, datasets, "How many dogs are there?")
	if _, err := r.WriteQuery(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	data.with = errors.New("the database is unavailableData")
	task.Instruction = "How many owners are there?"
	if _, err := r.WriteQuery(t.Context(), task); !errors.Is(err, data.with) {
		t.Errorf("while the data is unavailableData: %v", err)
	}
	data.with = nil
	if _, err := r.WriteQuery(t.Context(), task); err != nil {
		t.Errorf("when it is back: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	task.Instruction = "How many poodles are there?"
	if _, err := r.WriteQuery(ended, task); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestLargeTables tries no query out on tables with very many rows.
func TestLargeTables(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	r := reader.New()
	if _, err := r.WriteQuery(t.Context(), step(d, datasets, "How many dogs are there?")); err != nil {
		t.Fatal(err)
	}
	large := append([]llm.Dataset(nil), datasets...)
	large[1].Rows, large[1].Version = 3_000_000, "2"
	before := d.Queries.Load()
	if _, err := r.WriteQuery(t.Context(), step(d, large, "How many dogs are there?")); err != nil {
		t.Fatal(err)
	}
	if n := d.Queries.Load() - before; n > 3 { // its profile, and values that are not listed
		t.Errorf("%d queries", n)
	}
}

// TestConversation goes on from what was looked up before, asks something else in
// between, and takes up nothing from a turn that failed.
func TestConversation(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	r := reader.New()
	var earlier []llm.Turn
	for _, turn := range []struct{ question, want string }{
		{"How many dogs are there?", `{"count":4}`},
		{"and poodles?", `{"count":2}`},
		{"and collies?", `{"count":1}`},
		{"List the names of owners from Rome.", `{"name":"Ann"};{"name":"Cy"}`},
		{"and from Oslo?", `{"name":"Bo"}`},
		{"What is the average age of dogs?", `{"average_age":6.0}`},
	} {
		task := step(d, datasets, turn.question)
		task.Earlier = earlier
		q, err := r.WriteQuery(t.Context(), task)
		if err != nil {
			t.Fatalf("%s: %v", turn.question, err)
		}
		if got := rowsOf(t, d, q.SQL); got != turn.want {
			t.Errorf("%s\n%s\n got %s\nwant %s", turn.question, q.SQL, got, turn.want)
		}
		earlier = append(earlier, llm.Turn{Question: turn.question, Queries: []string{q.SQL}})
	}
	// Of a turn that failed there is no query.
	task := step(d, datasets, "How many poodles are there?")
	task.Earlier = []llm.Turn{{Question: "Which quantum flux capacitors exploded?"}}
	q, err := r.WriteQuery(t.Context(), task)
	if err != nil || rowsOf(t, d, q.SQL) != `{"count":2}` {
		t.Errorf("%s, %v", q.SQL, err)
	}
}

// TestFollowUpOnAnotherDay goes on from a question about days before today that was asked on
// another day.
func TestFollowUpOnAnotherDay(t *testing.T) {
	t.Parallel()
	d, datasets := kennel(t)
	r := reader.New()
	first := step(d, datasets, "How many dogs were born in the last 10 years?")
	q, err := r.WriteQuery(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	task := step(d, datasets, "what about poodles?")
	task.Now = now.AddDate(0, 0, 1)
	task.Earlier = []llm.Turn{{Question: first.Instruction, Queries: []string{q.SQL}}}
	next, err := r.WriteQuery(t.Context(), task)
	if err != nil || !strings.Contains(next.SQL, "2015-06-17") || !strings.Contains(next.SQL, "poodle") {
		t.Errorf("after %s\n got %s, %v", q.SQL, next.SQL, err)
	}
}

// TestUnlistedValue finds a value of a column that has too many to be listed.
func TestUnlistedValue(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	d.Exec(`CREATE TABLE ports AS SELECT 'Base ' || i AS name, i AS berths FROM range(5000) AS r(i)`)
	datasets := []llm.Dataset{d.Dataset("ports")}
	r := reader.New()
	task := step(d, datasets, "How many berths does Base 4321 have?")
	q, err := r.WriteQuery(t.Context(), task)
	if err != nil || !strings.Contains(rowsOf(t, d, q.SQL), "4321") {
		t.Fatalf("%s, %v", q.SQL, err)
	}
	task = step(d, datasets, "and Base 4322?")
	task.Earlier = []llm.Turn{{Question: "How many berths does Base 4321 have?", Queries: []string{q.SQL}}}
	if q, err = r.WriteQuery(t.Context(), task); err != nil || !strings.Contains(rowsOf(t, d, q.SQL), "4322") {
		t.Errorf("%s, %v", q.SQL, err)
	}
}

// TestFollowUp tells questions that go on from the one before from others by their words.
func TestFollowUp(t *testing.T) {
	t.Parallel()
	for question, want := range map[string]bool{
		"how many customers are there?": false, "what is there?": false, "how many live there?": true, "and in Rome?": true, "which of them are old?": true,
		"How many orders did each customer make in 2024?": false,
	} {
		if got := reader.FollowUp(question); got != want {
			t.Errorf("%s: %v", question, got)
		}
	}
}
