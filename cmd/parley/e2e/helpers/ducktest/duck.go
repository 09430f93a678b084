// Package ducktest gives tests an in-process DuckDB as [llm.Data], with the limits of
// results that the product has.
//
// Linking DuckDB takes seconds for each test program. So the tests of the reader's packages that
// need it are in folder llm/reader, with the package's name before theirs.
package ducktest

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2" // the driver

	"parley/internal/jsonscan"
	"parley/llm"
	"parley/llm/reader/ir"
)

// The bounds of a result.
const (
	maxRows  = 1_000
	maxBytes = 1 << 20
)

// Duck is an in-memory DuckDB for one test.
type Duck struct {
	tb testing.TB
	DB *sql.DB
	// Queries counts those that were run.
	Queries atomic.Int64
}

var _ llm.Data = (*Duck)(nil)

// New opens a database and closes it when the test ends.
func New(tb testing.TB) *Duck {
	tb.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		tb.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	tb.Cleanup(func() { _ = db.Close() })
	d := &Duck{tb: tb, DB: db}
	d.Exec("SET threads = 1")
	return d
}

// Exec runs statements.
func (d *Duck) Exec(statements ...string) {
	d.tb.Helper()
	for _, s := range statements {
		if _, err := d.DB.ExecContext(context.Background(), s); err != nil {
			d.tb.Fatalf("%s: %v", s, err)
		}
	}
}

// Query implements [llm.Data].
func (d *Duck) Query(ctx context.Context, query string) (llm.Rows, error) {
	d.Queries.Add(1)
	if err := ctx.Err(); err != nil {
		return llm.Rows{}, err
	}
	rows, err := d.DB.QueryContext(ctx, "SELECT to_json(q)::VARCHAR FROM ("+query+") AS q")
	if err != nil {
		return llm.Rows{}, fmt.Errorf("%w: %w", llm.ErrBadQuery, err)
	}
	defer func() { _ = rows.Close() }()
	var result llm.Rows
	for size := 0; rows.Next(); {
		var text string
		if err := rows.Scan(&text); err != nil {
			return llm.Rows{}, err
		}
		if size += len(text); size > maxBytes || len(result.Rows) == maxRows {
			result.Truncated = true
			break
		}
		result.Rows = append(result.Rows, json.RawMessage(text))
	}
	if len(result.Rows) > 0 {
		for name := range jsonscan.Members(result.Rows[0]) {
			result.Columns = append(result.Columns, string(name))
		}
	}
	return result, rows.Err()
}

// Table creates a table with columns and rows in SQL, and returns it as a dataset.
func (d *Duck) Table(name, columns, rows string) llm.Dataset {
	d.tb.Helper()
	d.Exec("CREATE TABLE "+ir.Ident(name)+" ("+columns+")", "INSERT INTO "+ir.Ident(name)+" VALUES "+rows)
	return d.Dataset(name)
}

// Dataset returns a table as a dataset.
func (d *Duck) Dataset(name string) llm.Dataset {
	d.tb.Helper()
	dataset := llm.Dataset{Name: name, Version: "1"}
	rows, err := d.DB.QueryContext(context.Background(), "SELECT column_name, data_type FROM duckdb_columns() WHERE table_name = ? ORDER BY column_index", name)
	if err != nil {
		d.tb.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var c llm.Column
		if err := rows.Scan(&c.Name, &c.Type); err != nil {
			d.tb.Fatal(err)
		}
		dataset.Columns = append(dataset.Columns, c)
	}
	if err := rows.Err(); err != nil {
		d.tb.Fatal(err)
	}
	if err := d.DB.QueryRowContext(context.Background(), "SELECT count(*) FROM "+ir.Ident(name)).Scan(&dataset.Rows); err != nil {
		d.tb.Fatal(err)
	}
	return dataset
}
