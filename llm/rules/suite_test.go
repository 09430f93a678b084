package rules

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"parley/llm"
	"parley/llm/eval"
	"parley/storage/lake/ingest"
)

// duck runs the queries of a test in a DuckDB of its own.
type duck struct{ db *sql.DB }

func newDuck(tb testing.TB) *duck {
	tb.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { db.Close() })
	if _, err := db.Exec("SET threads = 1"); err != nil {
		tb.Fatal(err)
	}
	return &duck{db}
}

func (d *duck) Query(ctx context.Context, query string) (llm.Rows, error) {
	const most = 1000
	rows, err := d.db.QueryContext(ctx, "SELECT to_json(q)::VARCHAR FROM ("+query+") AS q")
	if err != nil {
		return llm.Rows{}, fmt.Errorf("%w: %w", llm.ErrBadQuery, err)
	}
	defer rows.Close()
	var result llm.Rows
	for rows.Next() {
		if len(result.Rows) == most {
			result.Truncated = true
			break
		}
		var text string
		if err := rows.Scan(&text); err != nil {
			return llm.Rows{}, err
		}
		result.Rows = append(result.Rows, json.RawMessage(text))
	}
	if len(result.Rows) > 0 {
		result.Columns = keys(result.Rows[0])
	}
	return result, rows.Err()
}

// keys are the keys of a JSON object, in order.
func keys(object json.RawMessage) []string {
	d := json.NewDecoder(strings.NewReader(string(object)))
	var names []string
	d.Token()
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return names
		}
		names = append(names, name.(string))
		var skip json.RawMessage
		if d.Decode(&skip) != nil {
			return names
		}
	}
	return names
}

// load ingests CSV files as datasets, so that their columns have the types that
// they would have in use.
func (d *duck) load(tb testing.TB, space eval.Namespace) []llm.Dataset {
	tb.Helper()
	ctx := context.Background()
	var datasets []llm.Dataset
	for _, t := range space.Tables {
		dir := filepath.Join(tb.TempDir(), "out")
		result, err := ingest.Run(ctx, d.db, ingest.Job{OutDir: dir,
			Sources: []ingest.Source{{Path: t.Path, Name: t.Name + ".csv"}}})
		if err != nil {
			tb.Fatalf("ingest %s: %v", t.Path, err)
		}
		if _, err := d.db.Exec(fmt.Sprintf("CREATE OR REPLACE TABLE %s AS SELECT * FROM read_parquet(%s)", ident(t.Name), literal(result.Files[0].Path))); err != nil {
			tb.Fatal(err)
		}
		os.RemoveAll(dir)
		// A column without any value is in no file.
		for _, c := range result.Columns {
			if _, err := d.db.Exec(fmt.Sprintf("ALTER TABLE %s ADD COLUMN IF NOT EXISTS %s VARCHAR", ident(t.Name), ident(c.Name))); err != nil {
				tb.Fatal(err)
			}
		}
		dataset := llm.Dataset{Name: t.Name, Version: space.Name, Rows: result.Rows}
		for _, c := range result.Columns {
			dataset.Columns = append(dataset.Columns, llm.Column{Name: c.Name, Type: c.Type})
		}
		datasets = append(datasets, dataset)
	}
	return datasets
}

// asker answers the questions of a suite by the rules.
type asker struct {
	rules    *Rules
	duck     *duck
	datasets []llm.Dataset
	readAs   string
}

func (a *asker) Ask(ctx context.Context, _ eval.Namespace, q eval.Question) (eval.Reply, error) {
	query, err := a.rules.WriteQuery(ctx, llm.QueryTask{Task: llm.Task{Question: q.Question, Datasets: a.datasets, Data: a.duck}, Instruction: q.Question})
	a.readAs = query.Reasoning
	if err != nil {
		return eval.Reply{}, err
	}
	if query.Search != nil {
		return eval.Reply{}, errors.New("a search")
	}
	reply := eval.Reply{Query: query.SQL, Confidence: query.Confidence}
	reply.Rows, err = a.duck.Query(ctx, query.SQL)
	if err != nil {
		return reply, fmt.Errorf("QUERY FAILED: %w", err)
	}
	return reply, nil
}

// TestSuite measures the rules on the suite in the folder that PARLEY_SUITE names.
// With PARLEY_SUITE_OUT it writes how each question went there.
func TestSuite(t *testing.T) {
	folder := os.Getenv("PARLEY_SUITE")
	if folder == "" {
		t.Skip("PARLEY_SUITE names no suite")
	}
	suite, err := eval.Load(folder)
	if err != nil {
		t.Fatal(err)
	}
	out := os.Stderr
	if name := os.Getenv("PARLEY_SUITE_OUT"); name != "" {
		if out, err = os.Create(name); err != nil {
			t.Fatal(err)
		}
		defer out.Close()
	}
	var score eval.Score
	var times []float64
	a := &asker{rules: New(), duck: newDuck(t)}
	if text := os.Getenv("PARLEY_SUITE_THRESHOLD"); text != "" {
		fmt.Sscan(text, &a.rules.threshold)
	}
	for _, space := range suite.Namespaces {
		a.datasets = a.duck.load(t, space)
		for _, q := range space.Questions {
			o := eval.Ask(t.Context(), a, space, q)
			score.Add(o)
			times = append(times, o.MS)
			mark := "wrong"
			switch {
			case o.Right:
				mark = "right"
			case strings.HasPrefix(o.Error, "QUERY FAILED"):
				mark = "failed"
			case o.Error != "":
				mark = "refused"
			}
			want, _ := json.Marshal(q.Answer)
			got, _ := json.Marshal(o.Rows)
			fmt.Fprintf(out, "%s %.2f %s/%s\n  Q: %s\n  want %.300s\n  got  %.300s %s\n  sql  %s\n  gold %s\n  read %s\n", mark, o.Confidence, space.Name, q.ID, q.Question, want, got, o.Error, o.Query, q.SQL, a.readAs)
		}
		for _, d := range a.datasets {
			a.duck.db.Exec("DROP TABLE " + ident(d.Name))
		}
	}
	slices.Sort(times)
	var text strings.Builder
	score.Print(&text, "flat+single-table", "flat+join")
	t.Logf("\n%s\np50 %.2f ms, p99 %.2f ms (first questions of a namespace read its values)", text.String(), times[len(times)/2], times[len(times)*99/100])
}
