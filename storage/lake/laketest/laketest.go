// Package laketest has what tests of the lake's packages share: tables in files,
// trees of statements, and the statements that are tried.
package laketest

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"parley/internal/sqltext"
	"parley/storage/lake/engine"
	"parley/storage/lake/worker"
)

// Parquet writes a query's rows to a file and gives the table that it makes.
func Parquet(t testing.TB, dir, name, query string) worker.Table {
	t.Helper()
	file := filepath.Join(dir, name+".parquet")
	e, err := engine.Open(worker.OpenRequest{Memory: 1 << 30, Threads: 1, Exposed: true})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if err := e.Exec(fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet)", query, sqltext.Text(file))); err != nil {
		t.Fatal(err)
	}
	rows := Run(t, e, "SELECT * FROM read_parquet("+sqltext.Text(file)+")", 1)
	count := Run(t, e, "SELECT count(*) AS n FROM read_parquet("+sqltext.Text(file)+")", 1)
	var row struct{ N int64 }
	if err := json.Unmarshal(count.Rows[0], &row); err != nil {
		t.Fatal(err)
	}
	return worker.Table{Name: name, Files: []string{file}, ID: name, Version: "1", Columns: rows.Head.Columns, RowCount: row.N}
}

// Run runs a statement that must work.
func Run(t testing.TB, e *engine.Engine, sql string, maxRows int) engine.Result {
	t.Helper()
	result, err := e.Run(worker.Request{SQL: sql, MaxRows: maxRows, MaxBytes: 1 << 20})
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return result
}

// Parser parses statements in this process.
type Parser struct {
	Engine *engine.Engine
	mu     sync.Mutex
	// last are trees of the statements that were parsed last.
	last map[string][]byte
}

// NewParser opens a Parser until the test ends.
func NewParser(t testing.TB) *Parser {
	t.Helper()
	e, err := engine.Open(worker.OpenRequest{Memory: 256 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &Parser{Engine: e}
}

// Parse gives a statement's tree.
func (p *Parser) Parse(sql string) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if tree, ok := p.last[sql]; ok {
		return tree, nil
	}
	tree, err := p.Engine.Parse(sql)
	if len(p.last) > 8 || p.last == nil {
		p.last = map[string][]byte{}
	}
	if err == nil {
		p.last[sql] = []byte(tree)
	}
	return []byte(tree), err
}

// Tree gives the tree of a statement that can be parsed.
func (p *Parser) Tree(t testing.TB, sql string) []byte {
	t.Helper()
	tree, err := p.Parse(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tree
}
