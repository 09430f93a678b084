package joinguard

import (
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/sqlcheck"
)

// scope has what a SELECT can read from.
type scope struct {
	tables map[string]sqlcheck.Table
	// with are the definitions of WITH that it sees, as they are in the tree, and named the
	// columns of each by its name in lower case; nil where they are not known.
	with  []any
	named map[string][]domain.Column
}

// scopedSelect is a SELECT and what it can read from.
type scopedSelect struct {
	node  node
	scope scope
}

// selectsIn returns the SELECTs of a query, without those in expressions and in recursions.
func selectsIn(query node, in scope) []scopedSelect {
	var all []scopedSelect
	for _, v := range list(object(query["cte_map"])["map"]) {
		entry := object(v)
		value := object(entry["value"])
		definition := object(object(value["query"])["node"])
		all = append(all, selectsIn(definition, in)...)
		columns := renamed(in.outputs(definition), value["aliases"])
		in = in.with1(strings.ToLower(text(entry["key"])), v, columns)
	}
	switch query["type"] {
	case "SELECT_NODE":
		all = append(all, scopedSelect{query, in})
		visit(query["from_table"], func(n node) bool {
			if n["type"] == "SUBQUERY" && n["class"] == nil {
				all = append(all, selectsIn(object(object(n["subquery"])["node"]), in)...)
				return false
			}
			return n["class"] == nil
		})
	case "SET_OPERATION_NODE":
		all = append(all, selectsIn(object(query["left"]), in)...)
		all = append(all, selectsIn(object(query["right"]), in)...)
	}
	return all
}

// with1 returns the scope with one more name from WITH.
func (s scope) with1(name string, definition any, columns []domain.Column) scope {
	s.with = append(slices.Clip(s.with), definition)
	named := map[string][]domain.Column{name: columns}
	for other, columns := range s.named {
		if other != name {
			named[other] = columns
		}
	}
	s.named = named
	return s
}

// columnsOf returns the columns of a node of FROM; nil where they are not known.
func (s scope) columnsOf(n node) []domain.Column {
	switch n["type"] {
	case "BASE_TABLE":
		name := strings.ToLower(text(n["table_name"]))
		if columns, ok := s.named[name]; ok {
			return renamed(columns, n["column_name_alias"])
		}
		return renamed(s.tables[name].Columns, n["column_name_alias"])
	case "SUBQUERY":
		return renamed(s.outputs(object(object(n["subquery"])["node"])), n["column_name_alias"])
	case "JOIN":
		left, right := s.columnsOf(object(n["left"])), s.columnsOf(object(n["right"]))
		if left != nil && right != nil && n["join_type"] != "SEMI" && n["join_type"] != "ANTI" {
			return slices.Concat(left, right)
		}
	}
	return nil
}

// outputs returns the columns of a query's result; nil where they are not known.
func (s scope) outputs(query node) []domain.Column {
	if query["type"] == "SET_OPERATION_NODE" && query["setop_type"] != "UNION_BY_NAME" && len(list(object(query["cte_map"])["map"])) == 0 {
		return s.outputs(object(query["left"]))
	}
	if query["type"] != "SELECT_NODE" || len(list(object(query["cte_map"])["map"])) > 0 {
		return nil
	}
	var columns []domain.Column
	for _, v := range list(query["select_list"]) {
		item := object(v)
		name := text(item["alias"])
		switch names := list(item["column_names"]); {
		case name != "":
		case item["class"] == "COLUMN_REF" && len(names) > 0:
			name = text(names[len(names)-1])
		case item["class"] == "STAR":
			if !plainStar(item) {
				return nil
			}
			found := s.columnsOf(object(query["from_table"]))
			if found == nil {
				return nil
			}
			columns = append(columns, found...)
			continue
		}
		// An expression without a name has one that nobody writes.
		columns = append(columns, domain.Column{Name: name})
	}
	return columns
}

// plainStar reports whether a star stands for all columns of all sources.
func plainStar(n node) bool {
	for _, key := range []string{"exclude_list", "qualified_exclude_list", "rename_list", "replace_list"} {
		if len(list(n[key])) > 0 {
			return false
		}
	}
	columns, _ := n["columns"].(bool)
	return !columns && n["expr"] == nil && text(n["relation_name"]) == ""
}

// renamed returns columns with other names for the first of them.
func renamed(columns []domain.Column, aliases any) []domain.Column {
	if columns == nil || len(list(aliases)) == 0 {
		return columns
	}
	columns = slices.Clone(columns)
	for i, alias := range list(aliases) {
		if i < len(columns) {
			columns[i].Name = text(alias)
		}
	}
	return columns
}
