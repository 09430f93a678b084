// Package enginetest runs and parses statements in the process of a test.
package enginetest

import (
	"sync"
	"testing"

	"parley/storage/datasets/engine"
	"parley/storage/datasets/sandbox"
)

// Run runs a statement that must work.
func Run(t testing.TB, e *engine.Engine, sql string, maxRows int) engine.Result {
	t.Helper()
	result, err := e.Run(sandbox.Request{SQL: sql, MaxRows: maxRows, MaxBytes: 1 << 20}, nil)
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
	e, err := engine.Open(sandbox.OpenRequest{Memory: 256 << 20, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return &Parser{Engine: e}
}

// Parse returns a statement's tree.
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

// Tree returns the tree of a statement that can be parsed.
func (p *Parser) Tree(t testing.TB, sql string) []byte {
	t.Helper()
	tree, err := p.Parse(sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tree
}
