package llm

import (
	"context"
	"database/sql"
	"encoding/json"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"
)

// duck runs queries in a DuckDB of its own.
type duck struct{ *sql.DB }

func (d duck) Query(ctx context.Context, query string) (Rows, error) {
	rows, err := d.QueryContext(ctx, "SELECT to_json(q)::VARCHAR FROM ("+query+") AS q")
	if err != nil {
		return Rows{}, err
	}
	defer rows.Close()
	var result Rows
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return Rows{}, err
		}
		result.Rows = append(result.Rows, json.RawMessage(text))
	}
	return result, rows.Err()
}

// An address that a query builds or truncates is in a row of the result, but not in the
// data.
func TestStoredLinks(t *testing.T) {
	t.Parallel()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	for _, statement := range []string{
		`CREATE TABLE pages (n BIGINT, "a ""b""" VARCHAR, c VARCHAR[], d JSON)`,
		`INSERT INTO pages VALUES
			(1, 'https://h.example/abc', ['https://list.example/1', 'https://list.example/2'], '{"u": "https://json.example/x?y=1&z=%20"}'),
			(2, 'See [this](https://md.example/a_(b)), or (https://md.example/c).' || chr(10) || 'https://end.example/!', NULL, NULL),
			(3, 'https://two.example/a,https://two.example/b', NULL, NULL),
			(4, 'https://outer.example/https://inner.example/x', NULL, NULL)`,
		`CREATE TABLE others (c VARCHAR)`,
		`INSERT INTO others VALUES ('https://unread.example/')`,
	} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	task := AnswerTask{
		Task: Task{
			Datasets: []Dataset{
				{Name: "pages", Columns: []Column{{Name: "n", Type: "BIGINT"}, {Name: `a "b"`, Type: "VARCHAR"}, {Name: "c", Type: "VARCHAR[]"}, {Name: "d", Type: "JSON"}}},
				{Name: "numbers", Columns: []Column{{Name: "n", Type: "BIGINT"}}},
				{Name: "others", Columns: []Column{{Name: "c", Type: "VARCHAR"}}},
			},
			Data: duck{db},
		},
		Steps: []Step{{Query: "SELECT * FROM Pages, numbers"}},
	}
	for address, stored := range map[string]bool{
		"https://h.example/abc": true, "https://list.example/1": true, "https://list.example/2": true, "https://json.example/x?y=1&z=%20": true,
		"https://md.example/a_(b)": true, "https://md.example/c": true, "https://end.example/": true,
		"https://two.example/a": true, "https://two.example/b": true, "https://outer.example/https://inner.example/x": true,

		"https://h.example/": false, "https://h.example": false, "https://h.example/a": false, "https://h.example/ab": false, "https://h.example/abcd": false,
		"https://H.example/abc": false, "https://h.example/.bc": false, "https://json.example/x?y=1": false, "https://json.example/x?y=1&z= ": false,
		"https://md.example/a_": false, "https://inner.example/x": false, "https://unread.example/": false, "https://made.example/": false,
	} {
		if got := storedLinks(t.Context(), task, []string{"https://none.example/", address}); got.addresses[address] != stored || len(got.addresses) > 1 {
			t.Errorf("%s: %v", address, got.addresses)
		}
	}
	task.Data = nil
	if got := storedLinks(t.Context(), task, []string{"https://h.example/abc"}); len(got.addresses) > 0 {
		t.Errorf("without data: %v", got.addresses)
	}
}
