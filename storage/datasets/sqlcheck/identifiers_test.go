package sqlcheck

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/storage/datasets/match"
)

// positions are statements with an identifier, {n}, in every place of the
// grammar where one can stand, and {s}, the same as a text.
var positions = strings.Split(strings.TrimSpace(`
SELECT {n}.* FROM notes AS {n} WHERE match(text, 'fox')
SELECT 1, {n}.*, 2 FROM notes AS {n} WHERE match(text, 'fox')
SELECT COLUMNS({n}.*) FROM notes AS {n} WHERE match(text, 'fox')
SELECT max(COLUMNS({n}.*)) OVER () FROM notes AS {n} WHERE match(text, 'fox')
SELECT struct_pack(*COLUMNS({n}.*)) FROM notes AS {n} WHERE match(text, 'fox')
SELECT {n}.* EXCLUDE (text) FROM notes AS {n} WHERE match(text, 'fox')
SELECT * EXCLUDE ({n}.text) FROM notes AS {n} WHERE match(text, 'fox')
SELECT * EXCLUDE ({n}) FROM (SELECT text, 1 AS {n} FROM notes) WHERE match(text, 'fox')
SELECT * REPLACE (2 AS {n}) FROM (SELECT text, 1 AS {n} FROM notes) WHERE match(text, 'fox')
SELECT * RENAME ({n} AS b) FROM (SELECT text, 1 AS {n} FROM notes) WHERE match(text, 'fox')
SELECT * RENAME (document AS {n}) FROM notes WHERE match(text, 'fox')
SELECT * LIKE {s} FROM notes WHERE match(text, 'fox')
SELECT COLUMNS({s}) FROM notes WHERE match(text, 'fox')
SELECT COLUMNS({n} -> {n} LIKE 't%') FROM notes WHERE match(text, 'fox')
SELECT {n}.text FROM notes {n} WHERE match({n}.text, 'fox')
SELECT {n} FROM notes {n} WHERE match({n}.text, 'fox')
SELECT text AS {n} FROM notes WHERE match(text, 'fox') ORDER BY {n}
SELECT text {n} FROM notes WHERE match(text, 'fox') ORDER BY {n} DESC LIMIT 1
SELECT {n}: text FROM notes WHERE match(text, 'fox')
SELECT match(text, 'fox') AS {n} FROM notes
SELECT match(text, {s}) AS a FROM notes WHERE match(document, {s}) OR true
SELECT {n} FROM (SELECT text AS {n} FROM notes) WHERE match({n}, 'fox')
SELECT {n}.{n} FROM (SELECT text AS {n} FROM notes) AS {n} WHERE match({n}.{n}, 'fox')
SELECT t.{n} FROM notes AS t({n}) WHERE match(t.{n}, 'a.md')
SELECT {n} FROM notes AS {n}({n}, {n}, {n}) WHERE match(text, 'fox')
SELECT {n}, count(*) FROM (SELECT text AS {n} FROM notes) WHERE match({n}, 'fox') GROUP BY {n} HAVING count({n}) > 0
SELECT DISTINCT ON ({n}) {n} FROM (SELECT text AS {n} FROM notes) WHERE match({n}, 'fox')
WITH {n} AS (SELECT * FROM notes) SELECT {n}.* FROM {n} WHERE match(text, 'fox')
WITH {n}({n}) AS (SELECT text FROM notes) SELECT {n} FROM {n} WHERE match({n}, 'fox')
WITH {n} AS MATERIALIZED (SELECT text AS {n} FROM notes) FROM {n} WHERE match({n}, 'fox')
WITH RECURSIVE {n} AS (SELECT 1 AS x UNION ALL SELECT x + 1 FROM {n} WHERE x < 3) SELECT x FROM {n} WHERE match(x::VARCHAR, '2')
FROM notes AS {n} WHERE match(text, 'fox')
FROM notes AS {n} SELECT {n}.* WHERE match(text, 'fox')
SELECT {n}(text) FROM notes WHERE match(text, 'fox')
SELECT {n}.lower(text) FROM notes WHERE match(text, 'fox')
SELECT sum(passage) FILTER (WHERE {n}(1)) OVER () FROM notes WHERE match(text, 'fox')
SELECT {n}() OVER () FROM notes WHERE match(text, 'fox')
SELECT row_number() OVER {n} FROM notes WHERE match(text, 'fox') WINDOW {n} AS (ORDER BY text)
SELECT sum(passage) OVER (PARTITION BY {n} ORDER BY {n}) FROM (SELECT *, 1 AS {n} FROM notes) WHERE match(text, 'fox')
SELECT {n} FROM (SELECT text, 1 AS {n} FROM notes) WHERE match(text, 'fox') QUALIFY row_number() OVER (ORDER BY {n}) > 0
SELECT {{n}: text}.{n} FROM notes WHERE match(text, 'fox')
SELECT struct_pack({n} := text) AS a FROM notes WHERE match(text, 'fox')
SELECT a.{n} FROM (SELECT {{n}: text} AS a, text FROM notes) WHERE match(a.{n}, 'fox')
SELECT struct_extract({{n}: text}, {s}), MAP {{s}: 1}[{s}], {s}::JSON -> {s} FROM notes WHERE match(text, 'fox')
SELECT CAST(NULL AS STRUCT({n} INTEGER)) FROM notes WHERE match(text, 'fox')
SELECT CAST(NULL AS {n}) FROM notes WHERE match(text, 'fox')
SELECT CAST('a' AS ENUM({s})), text COLLATE {n} FROM notes WHERE match(text, 'fox')
SELECT * FROM (SELECT text, 1 AS {n} FROM notes) a JOIN (SELECT 1 AS {n}) b USING ({n}) WHERE match(text, 'fox')
SELECT {n}.* FROM notes AS {n} NATURAL JOIN notes b WHERE match({n}.text, 'fox')
SELECT {n}.*, l.* FROM notes AS {n}, LATERAL (SELECT {n}.text AS {n}) l WHERE match(l.{n}, 'fox')
SELECT list_transform([1], {n} -> {n} + 1) FROM notes WHERE match(text, 'fox')
SELECT list_transform([1], lambda {n}: {n} + 1) FROM notes WHERE match(text, 'fox')
SELECT [{n} + 1 FOR {n} IN [1, 2] IF {n} > 0] FROM notes WHERE match(text, 'fox')
SELECT * FROM (SELECT passage, text FROM notes) PIVOT (count(*) AS {n} FOR passage IN (1 AS {n}, 2)) WHERE match(text, 'fox')
SELECT * FROM (SELECT text, passage AS {n} FROM notes) PIVOT (count(*) FOR {n} IN (1, 2)) AS {n} WHERE match(text, 'fox')
SELECT * FROM (SELECT text, {s} AS k FROM notes) PIVOT (count(*) FOR k IN ({s})) WHERE match(text, 'fox')
SELECT * FROM notes UNPIVOT ({n} FOR {n} IN (text, document)) WHERE match('fox', 'fox')
SELECT * FROM (SELECT text AS {n} FROM notes) UNPIVOT (value FOR name IN ({n})) WHERE match(value, 'fox')
SELECT {n}.* FROM range(3) AS {n}({n}) WHERE match({n}::VARCHAR, '1')
SELECT {n}.* FROM (VALUES ('fox')) AS {n}({n}) WHERE match({n}, 'fox')
SELECT {n}.* FROM unnest(['fox']) AS {n}({n}) WHERE match({n}, 'fox')
SELECT {n}.* FROM notes AS {n} TABLESAMPLE 100% WHERE match(text, 'fox')
SELECT (SELECT max({n}.text) FROM notes AS {n} WHERE {n}.text = n.text) FROM notes n WHERE match(n.text, 'fox')
SELECT text FROM notes n WHERE match(text, 'fox') AND EXISTS (SELECT {n}.* FROM notes AS {n})
SELECT {n}.* FROM notes AS {n} WHERE match(text, 'fox') UNION BY NAME SELECT 1 AS {n}
SELECT * FROM (SELECT {n}.* FROM notes AS {n} WHERE match(text, 'fox')) AS {n}
SELECT * FROM {n} WHERE match(text, 'fox')
SELECT * FROM {n}.{n} WHERE match(text, 'fox')
SELECT * FROM {n}({n}) WHERE match(text, 'fox')
SELECT * FROM range({n}) WHERE match(text, 'fox')
SELECT {n}.{n}.{n}.{n} FROM notes AS {n} WHERE match(text, 'fox')
SELECT notes.{n} FROM notes WHERE match(text, 'fox')
SELECT text FROM notes WHERE match(text, 'fox') ORDER BY {n}
SELECT text FROM notes WHERE match(text, 'fox') LIMIT {n}
SELECT list_aggregate([1], {s}) FROM notes WHERE match(text, 'fox')
SELECT text -- {s}{newline} FROM notes WHERE match(text, 'fox')
`), "\n")

// checkExecuted reports an error unless the text that is run for a checked
// statement is the statement itself, or has one item more in its list, which is
// a score, and is otherwise the same; and holds nothing that is not allowed.
func (p *parser) checkExecuted(t *testing.T, sql, executed string, tables []Table) {
	t.Helper()
	checkNames(t, executed, string(p.Tree(t, executed)), tables)
	if executed == sql {
		return
	}
	given, run := p.query(t, sql), p.query(t, executed)
	items, _ := run["select_list"].([]any)
	last, _ := items[len(items)-1].(map[string]any)
	if name := functionIn(last); last["alias"] != match.ScoreColumn || name != "match" && name != "greatest" {
		t.Errorf("%s\nruns as %s", sql, executed)
	}
	run["select_list"] = items[:len(items)-1]
	if !reflect.DeepEqual(unlocated(map[string]any(given)), unlocated(map[string]any(run))) {
		t.Errorf("%s\nruns as something else: %s", sql, executed)
	}
	same := 0
	for same < len(sql) && sql[same] == executed[same] {
		same++
	}
	if !strings.HasSuffix(executed, sql[same:]) {
		t.Errorf("%s\nis changed in more than one place: %s", sql, executed)
	}
}

// query returns the query in a statement's tree.
func (p *parser) query(t *testing.T, sql string) node {
	t.Helper()
	var tree struct {
		Statements []struct{ Node map[string]any }
	}
	if err := json.Unmarshal(p.Tree(t, sql), &tree); err != nil || len(tree.Statements) != 1 {
		t.Fatalf("%s: %v", sql, err)
	}
	return tree.Statements[0].Node
}

// checkNames looks at the text of a tree for what the validator should have seen
// in its shape: all functions and tables that are anywhere in it.
func checkNames(t *testing.T, sql, tree string, tables []Table) {
	t.Helper()
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
}

// A name is a name wherever it stands: what is run is what was checked.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	p := newParser(t)
	tables := plainTables()
	names := datasetstest.HostileNames()
	if len(names) < 150 {
		t.Errorf("only %d names", len(names))
	}
	allowed, scored, step := map[string]int{}, map[string]int{}, nameStep()
	for first, position := range positions {
		for i := first % step; i < len(names); i += step {
			sql := datasetstest.Place(position, names[i])
			checked, err := p.check(sql, tables)
			if err != nil {
				continue
			}
			allowed[position]++
			if checked.SQL != sql {
				scored[position]++
			}
			p.checkExecuted(t, sql, checked.SQL, tables)
		}
	}
	total := 0
	for _, position := range positions {
		total += allowed[position]
		t.Logf("%3d allowed, %3d scored: %s", allowed[position], scored[position], position)
	}
	if total < 40*len(names)/step {
		t.Errorf("only %d statements are allowed: the test shows little", total)
	}
}
