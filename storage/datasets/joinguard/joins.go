package joinguard

import (
	"cmp"
	"encoding/json"
	"strconv"
	"strings"
)

// joinReader reads the relations and joins of FROM.
type joinReader struct {
	*selection
	scope scope
}

// read reads a node of FROM and returns its relations. It reports false for what is not
// covered.
func (j *joinReader) read(v any, nullable bool) (set, bool) {
	n := object(v)
	if n["sample"] != nil {
		return 0, false
	}
	switch n["type"] {
	case "BASE_TABLE", "SUBQUERY":
		return j.source(n, nullable)
	case "JOIN":
		return j.join(n, nullable)
	}
	return 0, false
}

// source reads a dataset, a name from WITH or a subquery.
func (j *joinReader) source(n node, nullable bool) (set, bool) {
	r := &relation{node: n, nullable: nullable, columns: j.scope.columnsOf(n)}
	key := strings.ToLower(text(n["table_name"]))
	_, r.derived = j.scope.named[key]
	r.derived = r.derived || n["type"] == "SUBQUERY"
	r.name = strings.ToLower(r.as())
	if r.columns == nil || r.name == "" || len(list(n["column_name_alias"])) > 0 || j.relation(r.name) >= 0 || len(j.relations) == maxRelations {
		return 0, false
	}
	r.title = cmp.Or(text(n["table_name"]), r.as())
	if !r.derived {
		r.title = j.scope.tables[key].Name
	}
	j.relations = append(j.relations, r)
	return 1 << (len(j.relations) - 1), true
}

func (j *joinReader) join(n node, nullable bool) (set, bool) {
	kind, ref := text(n["join_type"]), text(n["ref_type"])
	if ref != "REGULAR" && ref != "CROSS" && ref != "NATURAL" {
		return 0, false
	}
	if kind == "SEMI" || kind == "ANTI" {
		// The other side only decides which rows there are.
		j.inner = false
		return j.read(n["left"], nullable)
	}
	outer := map[string][2]bool{"INNER": {}, "LEFT": {false, true}, "RIGHT": {true, false}, "OUTER": {true, true}}
	added, ok := outer[kind]
	if !ok {
		return 0, false
	}
	left, ok1 := j.read(n["left"], nullable || added[0])
	right, ok2 := j.read(n["right"], nullable || added[1])
	if !ok1 || !ok2 {
		return 0, false
	}
	inner := kind == "INNER"
	j.inner = j.inner && inner
	using := list(n["using_columns"])
	if ref == "NATURAL" {
		using = j.common(left, right)
	}
	for _, name := range using {
		if !j.using(text(name), left, right, inner) {
			return 0, false
		}
	}
	// A condition of an outer join is one on the rows of the side that may be absent.
	var filter set
	if inner || kind == "LEFT" {
		filter |= right
	}
	if inner || kind == "RIGHT" {
		filter |= left
	}
	for _, c := range conjuncts(n["condition"]) {
		j.condition(c, filter, inner)
	}
	return left | right, true
}

// using notes the condition of a column of USING.
func (j *joinReader) using(name string, left, right set, inner bool) bool {
	of := [2]int{-1, -1}
	for _, i := range j.named(name) {
		side := 0
		if right.has(i) {
			side = 1
		}
		// Of those that USING has merged, the first stands for all.
		if (left | right).has(i) && (of[side] < 0 || !j.merged[strings.ToLower(name)]) {
			if of[side] >= 0 {
				return false
			}
			of[side] = i
		}
	}
	if of[0] < 0 || of[1] < 0 {
		return false
	}
	j.merged[strings.ToLower(name)] = true
	keys := [2]any{j.column(of[0], name), j.column(of[1], name)}
	j.edges = append(j.edges, edge{of: of, keys: keys, inner: inner})
	j.conditions = append(j.conditions, equal(keys[0], keys[1]))
	return true
}

// common returns the columns that the relations of two sides both have.
func (j *joinReader) common(left, right set) []any {
	var names []any
	seen := map[string]bool{}
	for i, r := range j.relations {
		for _, c := range r.columns {
			for k, other := range j.relations {
				if key := strings.ToLower(c.Name); left.has(i) && right.has(k) && other.has(c.Name) && !seen[key] {
					seen[key] = true
					names = append(names, c.Name)
				}
			}
		}
	}
	return names
}

// column makes a reference to a relation's column.
func (s *selection) column(relation int, name string) node {
	return column(s.relations[relation].as(), name)
}

// as returns what the statement calls the relation.
func (r *relation) as() string {
	if alias := text(r.node["alias"]); alias != "" {
		return alias
	}
	return text(r.node["table_name"])
}

func integer(v any) (int, bool) {
	switch v := v.(type) {
	case json.Number:
		n, err := strconv.Atoi(v.String())
		return n, err == nil
	case float64:
		return int(v), v == float64(int(v))
	}
	return 0, false
}
