package joinguard

import (
	"fmt"
	"slices"
	"strings"

	"parley/storage/datasets/sqlcheck"
)

// condition is a condition of a SELECT and the relations that it names.
type condition struct {
	expression any
	of         set
}

// semijoin changes a SELECT so that the relations which only filter are tested with EXISTS,
// and no longer repeat rows. It reports false where that is not enough, or not the same.
func (g *guard) semijoin(s *selection, found, repeated []aggregate) (bool, error) {
	kept, ok := s.used()
	if !ok || !s.inner || kept == s.all() || s.node["qualify"] != nil || !s.onlyCovered(found) {
		return false, nil
	}
	for _, a := range found {
		closed, err := g.closure(s, a.of)
		if err != nil {
			return false, err
		}
		isRepeated := slices.ContainsFunc(repeated, func(r aggregate) bool { return sameNode(r.node, a.node) })
		if a.of == 0 || isRepeated && closed&kept != kept || !isRepeated && closed != s.all() {
			return false, nil
		}
	}
	merged, ok := s.owners(kept)
	if !ok {
		return false, nil
	}
	var conditions []condition
	for _, c := range s.conditions {
		of, ok := s.refs(c)
		if !ok {
			return false, nil
		}
		conditions = append(conditions, condition{qualify(c, merged), of})
	}
	if len(components(kept, conditions)) > 1 {
		return false, nil
	}
	return true, g.replaceJoins(s, kept, conditions, merged)
}

// used returns the relations that are named besides the conditions of joins and WHERE.
func (s *selection) used() (of set, ok bool) {
	for _, part := range []any{s.node["select_list"], s.groups, s.node["having"], s.node["modifiers"]} {
		refs, ok := s.refs(part)
		if !ok {
			return 0, false
		}
		of |= refs
	}
	return of, true
}

// unaffected are the aggregates that a repeated row does not change.
var unaffected = map[string]bool{"min": true, "max": true, "any_value": true, "bool_and": true, "bool_or": true}

// onlyCovered reports whether all aggregates are covered or unaffected by repeated rows.
func (s *selection) onlyCovered(found []aggregate) bool {
	covered := true
	for _, key := range []string{"select_list", "having", "modifiers"} {
		visit(s.node[key], func(n node) bool {
			name := functionName(n)
			distinct, _ := n["distinct"].(bool)
			if sqlcheck.IsAggregate(name) && !distinct && !unaffected[name] {
				covered = covered && slices.ContainsFunc(found, func(a aggregate) bool { return sameNode(a.node, n) })
			}
			return covered
		})
	}
	return covered
}

// owners returns, for each column of USING, the first of some relations that has it. It reports
// false where none has.
func (s *selection) owners(kept set) (map[string]node, bool) {
	owners := map[string]node{}
	for name := range s.merged {
		for _, i := range s.named(name) {
			if kept.has(i) && owners[name] == nil {
				owners[name] = s.column(i, name)
			}
		}
		if owners[name] == nil {
			return nil, false
		}
	}
	return owners, true
}

// qualify copies an expression, with columns in place of names that USING merged.
func qualify(v any, merged map[string]node) any {
	return rewrite(v, func(v any) (any, bool) {
		n := object(v)
		if names := columnNames(n); len(names) == 1 && merged[names[0]] != nil {
			qualified := column(text(list(merged[names[0]]["column_names"])[0]), text(list(n["column_names"])[0]))
			qualified["alias"] = n["alias"]
			return qualified, true
		}
		return nil, false
	})
}

// components returns the parts of some relations that conditions hold together.
func components(of set, conditions []condition) []set {
	var all []set
	for i := range maxRelations {
		if of.has(i) {
			all = append(all, 1<<i)
		}
	}
	for _, c := range conditions {
		var joined set
		all = slices.DeleteFunc(all, func(part set) bool {
			if part&c.of != 0 {
				joined |= part
			}
			return part&c.of != 0
		})
		if joined != 0 {
			all = append(all, joined)
		}
	}
	return all
}

// replaceJoins rewrites FROM and WHERE of a SELECT: the kept relations are joined, those
// that only filter become EXISTS.
func (g *guard) replaceJoins(s *selection, kept set, conditions []condition, merged map[string]node) error {
	var where []any
	var from any
	joined, used := set(0), make([]bool, len(conditions))
	take := func(fits func(set) bool) (taken []any) {
		for i, c := range conditions {
			if !used[i] && fits(c.of) {
				used[i], taken = true, append(taken, c.expression)
			}
		}
		return taken
	}
	for i, r := range s.relations {
		if !kept.has(i) {
			continue
		}
		joined |= 1 << i
		if from == nil {
			from = r.node
			continue
		}
		on := take(func(of set) bool { return of&^joined == 0 && of.has(i) && of.only() < 0 })
		var err error
		if from, err = g.joinOn(from, r.node, on); err != nil {
			return err
		}
	}
	where = take(func(of set) bool { return of&^kept == 0 })
	for _, part := range components(s.all()&^kept, conditions) {
		exists, err := g.exists(s, part, take(func(of set) bool { return of&part != 0 }))
		if err != nil {
			return err
		}
		where = append(where, exists)
	}
	for _, key := range []string{"select_list", "group_expressions", "having", "modifiers"} {
		s.node[key] = qualify(s.node[key], merged)
	}
	s.node["from_table"], s.node["where_clause"] = from, and(where)
	return nil
}

func (g *guard) joinOn(left, right any, on []any) (any, error) {
	parts := map[string]any{"__left": left, "__right": right, "__on": and(on)}
	sql := "SELECT 1 FROM __left JOIN __right ON __on"
	if len(on) == 0 {
		sql = "SELECT 1 FROM __left, __right"
	}
	root, err := g.build(sql, parts)
	if err != nil {
		return nil, err
	}
	return fromOf(root)
}

// exists makes the test for rows of some relations.
func (g *guard) exists(s *selection, of set, on []any) (any, error) {
	parts := map[string]any{}
	var names []string
	for i, r := range s.relations {
		if of.has(i) {
			name := fmt.Sprint("__from", i)
			names = append(names, name)
			parts[name] = r.node
		}
	}
	sql := "EXISTS (SELECT 1 FROM " + strings.Join(names, ", ")
	if len(on) > 0 {
		parts["__on"] = and(on)
		sql += " WHERE __on"
	}
	return g.expression(sql+")", parts)
}
