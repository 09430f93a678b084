package lake

import (
	"regexp"
	"strings"
	"testing"
)

var (
	functionsInTree = regexp.MustCompile(`"function_name":"((?:[^"\\]|\\.)*)"`)
	tablesInTree    = regexp.MustCompile(`"schema_name":"((?:[^"\\]|\\.)*)","table_name":"((?:[^"\\]|\\.)*)"`)
	namesInTree     = regexp.MustCompile(`"key":"((?:[^"\\]|\\.)*)"`)
)

// FuzzStatement looks at the text of a tree for what the validator should have
// seen in its shape: with all functions and tables that are anywhere in it.
func FuzzStatement(f *testing.F) {
	for _, sql := range append(append(append([]string{}, trespasses...), questions...), bombs...) {
		f.Add(sql)
	}
	p := newTreeParser(f)
	tables := plainTables()
	f.Fuzz(func(t *testing.T, sql string) {
		if len(sql) > 4<<10 {
			return
		}
		if checkRequest(sql, tables) != nil {
			return
		}
		p.mu.Lock()
		tree, err := p.e.parse(sql)
		p.mu.Unlock()
		if err != nil {
			return
		}
		checked, err := Validate([]byte(tree), tables)
		if err != nil {
			return
		}
		if len(checked.Tables) > len(tables) {
			t.Errorf("uses %v", checked.Tables)
		}
		for _, found := range functionsInTree.FindAllStringSubmatch(tree, -1) {
			name := strings.ToLower(found[1])
			if !operators[name] && !scalars[name] && !aggregates[name] && !tableFunctions[name] {
				t.Errorf("%s: allowed with function %s", sql, found[1])
			}
		}
		known := map[string]bool{}
		for _, table := range tables {
			known[strings.ToLower(table.Name)] = true
		}
		for _, found := range namesInTree.FindAllStringSubmatch(tree, -1) {
			known[strings.ToLower(found[1])] = true
		}
		for _, found := range tablesInTree.FindAllStringSubmatch(tree, -1) {
			if found[1] != "" || !known[strings.ToLower(found[2])] {
				t.Errorf("%s: allowed with table %s.%s", sql, found[1], found[2])
			}
		}
		for _, kind := range []string{"SHOW_REF", "VALUE_PARAMETER", "VALUE_DEFAULT"} {
			if strings.Contains(tree, `"type":"`+kind+`"`) {
				t.Errorf("%s: allowed with %s", sql, kind)
			}
		}
	})
}

// FuzzTree gives the validator trees that no parser made.
func FuzzTree(f *testing.F) {
	p := newTreeParser(f)
	for _, sql := range questions {
		tree, err := p.e.parse(sql)
		if err != nil {
			f.Fatal(err)
		}
		f.Add([]byte(tree))
	}
	f.Add([]byte(honestTree))
	f.Add([]byte(`{"error":false,"statements":[{"node":null}]}`))
	f.Add([]byte(strings.Repeat(`{"a":[`, 6000)))
	tables := plainTables()
	f.Fuzz(func(t *testing.T, tree []byte) {
		checked, err := Validate(tree, tables)
		if err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
		if err == nil && len(checked.Tables) > len(tables) {
			t.Errorf("uses %v", checked.Tables)
		}
	})
}
