package eval

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"parley/llm"
	"parley/llm/eval"
)

// TestPitfalls checks that the suite of questions whose wrong answers look right can
// be read, and that its queries give its answers.
func TestPitfalls(t *testing.T) {
	t.Parallel()
	suite, err := eval.Load(filepath.Join("testdata", "pitfalls"))
	if err != nil {
		t.Fatal(err)
	}
	if questions, _ := suite.Count(); questions < 40 {
		t.Errorf("%d questions", questions)
	}
	followUps := 0
	for _, space := range suite.Namespaces {
		db, err := sql.Open("duckdb", "")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = db.Close() })
		for _, table := range space.Tables {
			if _, err := db.Exec(fmt.Sprintf("CREATE TABLE %s AS FROM read_csv('%s')", table.Name, table.Path)); err != nil {
				t.Fatal(err)
			}
		}
		for _, q := range space.Questions {
			if len(q.After) > 0 {
				followUps++
			}
			rows, err := rowsOfSQL(t.Context(), db, q.SQL)
			if err != nil {
				t.Errorf("%s: %v", q.ID, err)
				continue
			}
			if !q.Matches(rows) {
				t.Errorf("%s: %s\n got %v\nwant %v", q.ID, q.SQL, rows, q.Answer)
			}
		}
	}
	if followUps < 8 {
		t.Errorf("%d follow-ups", followUps)
	}
}

// rowsOfSQL gives the values of a query's rows.
func rowsOfSQL(ctx context.Context, db *sql.DB, query string) ([][]any, error) {
	found, err := db.QueryContext(ctx, "SELECT to_json(q)::VARCHAR FROM ("+query+") AS q")
	if err != nil {
		return nil, err
	}
	defer func() { _ = found.Close() }()
	var result llm.Rows
	for found.Next() {
		var text string
		if err := found.Scan(&text); err != nil {
			return nil, err
		}
		result.Rows = append(result.Rows, json.RawMessage(text))
	}
	if err := found.Err(); err != nil {
		return nil, err
	}
	return eval.Values(result)
}
