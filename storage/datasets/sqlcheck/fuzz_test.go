package sqlcheck

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
)

var (
	functionsInTree = regexp.MustCompile(`"function_name":"((?:[^"\\]|\\.)*)"`)
	tablesInTree    = regexp.MustCompile(`"schema_name":"((?:[^"\\]|\\.)*)","table_name":"((?:[^"\\]|\\.)*)"`)
	namesInTree     = regexp.MustCompile(`"key":"((?:[^"\\]|\\.)*)"`)
)

// FuzzStatement looks at the text of a tree for what the validator should have
// seen in its shape: with all functions and tables that are anywhere in it.
func FuzzStatement(f *testing.F) {
	for _, sql := range slices.Concat(datasetstest.Trespasses, datasetstest.Questions, datasetstest.Bombs) {
		f.Add(sql)
	}
	p := newParser(f)
	tables := plainTables()
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 4<<10 {
			return
		}
		if CheckRequest(sql, tables) != nil {
			return
		}
		checked, err := p.check(sql, tables)
		if err != nil {
			return
		}
		if len(checked.Tables) > len(tables) {
			t.Errorf("uses %v", checked.Tables)
		}
		p.checkExecuted(t, sql, checked.SQL, tables)
	})
}

// FuzzTree returns the validator trees that no parser made.
func FuzzTree(f *testing.F) {
	p := newParser(f)
	for _, sql := range datasetstest.Questions {
		tree, err := p.Parse(sql)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(tree)
	}
	f.Add([]byte(datasetstest.SmallTree))
	f.Add([]byte(`{"error":false,"statements":[{"node":null}]}`))
	f.Add([]byte(strings.Repeat(`{"a":[`, 6000)))
	tables := plainTables()
	f.Fuzz(func(t *testing.T, tree []byte) {
		checked, err := Validate(t.Context(), tree, tables)
		if err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
		if err == nil && len(checked.Tables) > len(tables) {
			t.Errorf("uses %v", checked.Tables)
		}
	})
}
