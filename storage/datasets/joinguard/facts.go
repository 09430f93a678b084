package joinguard

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// check reports whether an aggregate must be rewritten. One that cannot be is refused.
func (g *guard) check(s *selection, a aggregate) (wrong bool, err error) {
	if a.of == 0 {
		return false, g.checkRows(s, a)
	}
	closed, err := g.closure(s, a.of)
	if err != nil || closed == s.all() {
		return false, err
	}
	repeated, err := g.measure(s, a, a.of)
	if err != nil || !repeated {
		return false, err
	}
	others := s.all() &^ closed
	determined, err := g.closure(s, others)
	if err != nil || determined&a.of != a.of {
		return true, err
	}
	// The rows of others each have one of the aggregate's: it may be meant to count for
	// each of them.
	single, err := g.single(s, a.of)
	switch {
	case err != nil:
		return false, err
	case single && a.function != "sum":
		return false, nil
	case single, others.first() < a.of.first():
		return false, refusal(s, a, others)
	}
	return true, nil
}

// single reports whether each group has at most one row of a relation, since the groups
// have a key of it.
func (g *guard) single(s *selection, of set) (bool, error) {
	i := of.only()
	if i < 0 {
		return false, nil
	}
	var keys []any
	for _, group := range s.groups {
		if refs, ok := s.refs(group); ok && refs == of {
			keys = append(keys, group)
		}
	}
	if len(keys) == 0 {
		return false, nil
	}
	whole := *s.relations[i]
	whole.filters = nil
	return g.isUnique(s.scope, &whole, keys)
}

// checkRows refuses an aggregate over the rows of a join that are combinations of rows which
// belong together only because they match the same row. A statement that compares rows, or
// joins a dataset with itself, is about combinations.
func (g *guard) checkRows(s *selection, a aggregate) error {
	tables := map[string]bool{}
	for _, r := range s.relations {
		tables[r.title] = true
	}
	if s.compared || len(tables) < len(s.relations) {
		return nil
	}
	// The relation that is joined last is the likeliest to have a row for each of the join's.
	for i := len(s.relations) - 1; i >= 0; i-- {
		closed, err := g.closure(s, 1<<i)
		if err != nil || closed == s.all() {
			return err
		}
	}
	for i := range s.relations {
		repeated, err := g.measure(s, a, 1<<i)
		if err != nil || !repeated {
			return err
		}
	}
	return refusePairs(s, a)
}

// all is the set of all relations.
func (s *selection) all() set { return 1<<len(s.relations) - 1 }

// first returns the first relation of a set in FROM.
func (s set) first() int {
	for i := range maxRelations {
		if s.has(i) {
			return i
		}
	}
	return maxRelations
}

// closure returns the relations of which a row of some relations matches at most one row each.
func (g *guard) closure(s *selection, from set) (set, error) {
	closed := from
	for grown := true; grown; {
		grown = false
		for i := range s.relations {
			if closed.has(i) {
				continue
			}
			one, err := g.matchesOne(s, closed, i)
			if err != nil {
				return 0, err
			}
			if one {
				closed, grown = closed|1<<i, true
			}
		}
	}
	return closed, nil
}

// matchesOne reports whether the rows of some relations match at most one row of another: by
// what equals one of them, or by all that equals them together.
func (g *guard) matchesOne(s *selection, from set, other int) (bool, error) {
	var together []any
	keys := make([][]any, len(s.relations))
	for _, e := range s.edges {
		for side, near := range e.of {
			if from.has(near) && e.of[1-side] == other {
				keys[near] = append(keys[near], e.keys[1-side])
				together = append(together, e.keys[1-side])
			}
		}
	}
	partners := slices.DeleteFunc(keys, func(k []any) bool { return len(k) == 0 })
	if len(partners) > 1 {
		partners = append(partners, together)
	}
	for _, k := range partners {
		if unique, err := g.isUnique(s.scope, s.relations[other], k); err != nil || unique {
			return unique, err
		}
	}
	return false, nil
}

// isUnique reports whether no two rows of a relation that fulfil its filters have equal keys.
func (g *guard) isUnique(in scope, r *relation, keys []any) (bool, error) {
	parts := map[string]any{"__from": r.node}
	names, where := make([]string, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		names[i] = fmt.Sprint("__key", i)
		where[i] = names[i] + " IS NOT NULL"
		parts[names[i]] = key
	}
	if filter := and(r.filters); filter != nil {
		where = append(where, "__filter")
		parts["__filter"] = filter
	}
	sql := fmt.Sprintf("SELECT count(*) = count(DISTINCT (%s)) AS found FROM __from WHERE %s", strings.Join(names, ", "), strings.Join(where, " AND "))
	fact, err := json.Marshal([]any{r.node, keys, r.filters, in.with})
	if err != nil {
		return false, err
	}
	if unique, known := g.unique[string(fact)]; known {
		return unique, nil
	}
	var row struct{ Found bool }
	err = g.query(in, sql, parts, len(r.filters) == 0 && !r.derived, &row)
	if err == nil {
		g.unique[string(fact)] = row.Found
	}
	return row.Found, err
}

// measure reports whether the join repeats a row of some relations within a group.
func (g *guard) measure(s *selection, a aggregate, of set) (repeated bool, err error) {
	from, rows, err := g.numbered(s, of)
	if err != nil {
		return false, err
	}
	parts := map[string]any{"__from": from, "__rows": rows}
	filter, where, group := "", "", ""
	if a.node["filter"] != nil {
		parts["__when"] = a.node["filter"]
		filter = " FILTER (WHERE __when)"
	}
	if s.node["where_clause"] != nil {
		parts["__where"] = s.node["where_clause"]
		where = " WHERE __where"
	}
	for i, expression := range s.groups {
		name := fmt.Sprint("__group", i)
		parts[name] = expression
		group += []string{" GROUP BY ", ", "}[min(i, 1)] + name
	}
	var row struct{ Repeated bool }
	sql := fmt.Sprintf(`SELECT coalesce(bool_or(n <> d), false) AS repeated
		FROM (SELECT count(__rows)%s AS n, count(DISTINCT __rows)%s AS d FROM __from%s%s)`, filter, filter, where, group)
	err = g.query(s.scope, sql, parts, false, &row)
	return row.Repeated, err
}
