// Package duck loads the tables of a folder of training data into DuckDB and runs queries.
// Package dataset reads their profiles.
package duck

import (
	"database/sql"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/duckdb/duckdb-go/v2"

	"parley/llm/reader/catalog"
	"parley/llm/reader/ir"
	"parley/llm/reader/train/dataset"
)

// macros are the functions of periods that our own questions' SQL uses.
//
//go:embed macros.sql
var macros string

// Database is the tables of one folder.
type Database struct {
	Catalog *catalog.Catalog
	db      *sql.DB
}

// Open loads the tables of a folder.
func Open(dir string) (*Database, error) {
	cat, profiles, err := dataset.Catalog(dir)
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("duckdb", "")
	if err != nil {
		return nil, err
	}
	for _, p := range profiles {
		file := filepath.Join(dir, "tables", p.Name+".csv")
		var columns []string
		for _, c := range p.Columns {
			columns = append(columns, ir.Literal(c.Name)+": "+ir.Literal(c.Type))
		}
		if _, err := db.Exec(fmt.Sprintf(`CREATE TABLE %s AS SELECT * FROM read_csv(%s, header=true, nullstr='', auto_detect=false, delim=',', quote='"', escape='"', columns={%s})`,
			ir.Ident(p.Name), ir.Literal(file), strings.Join(columns, ", "))); err != nil {
			_ = db.Close()
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	for i := range cat.Columns {
		c := &cat.Columns[i]
		if c.Kind == catalog.Text || c.Kind == catalog.Other || !c.Native {
			continue
		}
		// As the profile of the product has them.
		if err := db.QueryRow(fmt.Sprintf("SELECT coalesce(CAST(min(%[1]s) AS VARCHAR), ''), coalesce(CAST(max(%[1]s) AS VARCHAR), '') FROM %[2]s",
			ir.Ident(c.Name), ir.Ident(cat.Tables[c.Table].Name))).Scan(&c.Least, &c.Most); err != nil {
			_ = db.Close()
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
	}
	if _, err := db.Exec(macros); err != nil {
		_ = db.Close()
		return nil, err
	}
	return &Database{cat, db}, nil
}

// Close closes the database.
func (d *Database) Close() { _ = d.db.Close() }

// Rows runs a query and returns its rows without internal columns, whose names start with
// __.
func (d *Database) Rows(text string) ([][]any, error) {
	r, err := d.db.Query(text)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	columns, err := r.Columns()
	if err != nil {
		return nil, err
	}
	var all [][]any
	for r.Next() {
		cells := make([]any, len(columns))
		pointers := make([]any, len(columns))
		for i := range cells {
			pointers[i] = &cells[i]
		}
		if err := r.Scan(pointers...); err != nil {
			return nil, err
		}
		var row []any
		for i, c := range cells {
			if !strings.HasPrefix(columns[i], "__") {
				row = append(row, plain(c))
			}
		}
		all = append(all, row)
	}
	return all, r.Err()
}

// plain converts a cell to its form in a JSON result.
func plain(cell any) any {
	switch c := cell.(type) {
	case nil, string, bool:
		return c
	case int8, int16, int32, int64, uint8, uint16, uint32, uint64, float32, float64:
		return json.Number(fmt.Sprint(c))
	case time.Time:
		return c.Format("2006-01-02T15:04:05")
	}
	return fmt.Sprint(cell)
}
