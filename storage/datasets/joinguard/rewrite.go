package joinguard

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// rowNumber names the column of a relation's row numbers. No dataset has such a column:
// names that begin with two underscores are internal.
func rowNumber(relation int) string { return fmt.Sprint("__row", relation) }

// numbered returns FROM with row numbers in some relations, and the expression that tells
// their rows apart; NULL where one of them has none.
func (g *guard) numbered(s *selection, of set) (from, rows any, err error) {
	if from, err = g.addNumbers(s, s.node["from_table"], of); err != nil {
		return nil, nil, err
	}
	if i := of.only(); i >= 0 {
		return from, s.column(i, rowNumber(i)), nil
	}
	var names, present []string
	parts := map[string]any{}
	for i := range s.relations {
		if of.has(i) {
			names = append(names, rowNumber(i))
			present = append(present, rowNumber(i)+" IS NOT NULL")
			parts[rowNumber(i)] = s.column(i, rowNumber(i))
		}
	}
	sql := fmt.Sprintf("CASE WHEN %s THEN row(%s) END", strings.Join(present, " AND "), strings.Join(names, ", "))
	rows, err = g.expression(sql, parts)
	return from, rows, err
}

func (g *guard) addNumbers(s *selection, v any, of set) (any, error) {
	n := object(v)
	if n["type"] == "JOIN" {
		var err error
		n = maps.Clone(n)
		if n["left"], err = g.addNumbers(s, n["left"], of); err != nil {
			return nil, err
		}
		// Datasets of a semijoin's other side may have the same names.
		if n["join_type"] != "SEMI" && n["join_type"] != "ANTI" {
			n["right"], err = g.addNumbers(s, n["right"], of)
		}
		return n, err
	}
	i := slices.IndexFunc(s.relations, func(r *relation) bool {
		return strings.EqualFold(r.as(), text(n["alias"])) || text(n["alias"]) == "" && strings.EqualFold(r.as(), text(n["table_name"]))
	})
	if i < 0 || !of.has(i) {
		return v, nil
	}
	table := maps.Clone(n)
	table["alias"] = ""
	root, err := g.build("SELECT 1 FROM (SELECT *, row_number() OVER () AS "+rowNumber(i)+" FROM __table) AS numbered", map[string]any{"__table": table})
	if err != nil {
		return nil, err
	}
	from, err := fromOf(root)
	if err != nil {
		return nil, err
	}
	from["alias"] = s.relations[i].as()
	return from, nil
}

// expression makes the tree of an expression; see build.
func (g *guard) expression(sql string, parts map[string]any) (node, error) {
	root, err := g.build("SELECT "+sql, parts)
	if err != nil {
		return nil, err
	}
	query, err := queryOf(root)
	if err != nil {
		return nil, err
	}
	item := object(first(query["select_list"]))
	if item == nil {
		return nil, errTree
	}
	return item, nil
}

// fromOf returns FROM of a statement's tree.
func fromOf(root node) (node, error) {
	query, err := queryOf(root)
	if err != nil {
		return nil, err
	}
	from := object(query["from_table"])
	if from == nil {
		return nil, errTree
	}
	return from, nil
}

// countOnce changes a SELECT so that each row of their relations counts once in some
// aggregates. The columns of the result keep their names.
func (g *guard) countOnce(s *selection, repeated []aggregate) error {
	var of set
	for _, a := range repeated {
		of |= a.of
	}
	from, err := g.addNumbers(s, s.node["from_table"], of)
	if err != nil {
		return err
	}
	replaced := make([]node, len(repeated))
	for i, a := range repeated {
		if replaced[i], err = g.once(s, a); err != nil {
			return err
		}
	}
	if err := g.nameItems(s); err != nil {
		return err
	}
	for i, a := range repeated {
		alias := a.node["alias"]
		clear(a.node)
		maps.Copy(a.node, replaced[i])
		a.node["alias"] = alias
	}
	s.node["from_table"] = from
	return nil
}

// once returns the expression that counts each row of an aggregate's relations once.
func (g *guard) once(s *selection, a aggregate) (node, error) {
	parts := map[string]any{"__value": first(a.node["children"])}
	var rows []string
	for i, r := range s.relations {
		if !a.of.has(i) {
			continue
		}
		parts[rowNumber(i)] = s.column(i, rowNumber(i))
		number := rowNumber(i)
		if r.nullable {
			number = "coalesce(" + number + ", 0)"
		}
		rows = append(rows, number)
	}
	row := rows[0]
	if len(rows) > 1 {
		row = "row(" + strings.Join(rows, ", ") + ")"
	}
	var when []string
	if a.node["filter"] != nil {
		parts["__when"] = a.node["filter"]
		when = append(when, "__when")
	}
	format := "list_" + a.function + "(list_transform(list(DISTINCT row(%s, __value))%s, pair -> pair[2]))"
	if a.function == "count" {
		format = "count(DISTINCT %s)%s"
		when = append(when, "__value IS NOT NULL")
	}
	filter := ""
	if len(when) > 0 {
		filter = " FILTER (WHERE " + strings.Join(when, " AND ") + ")"
	}
	return g.expression(fmt.Sprintf(format, row, filter), parts)
}

// nameItems sets the name of items of SELECT that have none: the one that DuckDB would give them.
func (g *guard) nameItems(s *selection) error {
	for _, v := range list(s.node["select_list"]) {
		item := object(v)
		if text(item["alias"]) != "" || item["class"] == "COLUMN_REF" || !containsAggregate(item) {
			continue
		}
		root, err := g.build("SELECT __item", map[string]any{"__item": item})
		if err != nil {
			return err
		}
		name, err := g.printTree(root)
		if err != nil {
			return err
		}
		item["alias"] = strings.TrimPrefix(name, "SELECT ")
	}
	return nil
}
