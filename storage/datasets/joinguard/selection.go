package joinguard

import (
	"slices"
	"strings"

	"parley/internal/domain"
)

// relation is a dataset, a name from WITH or a subquery in FROM.
type relation struct {
	node node
	// name is the alias, or else the name, in lower case; title is what people call it.
	name, title string
	columns     []domain.Column
	// derived says that it is no dataset.
	derived bool
	// nullable says that an outer join may add rows without it.
	nullable bool
	// filters are conditions on it alone, which all its rows in the join fulfil.
	filters []any
	// filtered says that a condition besides those of joins names it.
	filtered bool
}

func (r *relation) has(column string) bool {
	return slices.ContainsFunc(r.columns, func(c domain.Column) bool { return strings.EqualFold(c.Name, column) })
}

// edge says that rows of two relations match where two expressions, each over one of them,
// are equal.
type edge struct {
	of    [2]int
	keys  [2]any
	inner bool
}

// selection is a SELECT over joined datasets.
type selection struct {
	node      node
	scope     scope
	relations []*relation
	edges     []edge
	// merged are the columns of USING, in lower case, which belong to several relations.
	merged map[string]bool
	// aliases are the expressions that SELECT names, by their names in lower case.
	aliases map[string]any
	// conditions are those of WHERE and ON.
	conditions []any
	// compared says that a condition that is no equality compares rows of several relations.
	compared bool
	// inner says that all joins are inner ones.
	inner bool
	// groups are the expressions of GROUP BY.
	groups []any
}

// set is a set of relations, by their positions.
type set uint64

const maxRelations = 64

func (s set) has(i int) bool { return s&(1<<i) != 0 }

// only returns the one relation of a set; -1 when there is none or several.
func (s set) only() int {
	for i := range maxRelations {
		if s == 1<<i {
			return i
		}
	}
	return -1
}

// newSelection reads a SELECT. It reports false for one that joins nothing, or is not
// covered.
func newSelection(n node, in scope) (*selection, bool) {
	s := &selection{node: n, scope: in, merged: map[string]bool{}, aliases: map[string]any{}, inner: true}
	if object(n["from_table"])["type"] != "JOIN" || n["sample"] != nil || len(list(n["group_sets"])) > 1 {
		return nil, false
	}
	for _, v := range list(n["select_list"]) {
		if alias := text(object(v)["alias"]); alias != "" {
			s.aliases[strings.ToLower(alias)] = v
		}
	}
	joins := joinReader{selection: s, scope: in}
	if _, ok := joins.read(n["from_table"], false); !ok || len(s.relations) < 2 {
		return nil, false
	}
	for _, c := range conjuncts(n["where_clause"]) {
		s.condition(c, ^set(0), true)
	}
	return s, s.readGroups()
}

// condition notes a condition of WHERE or ON. The relations of filter have no rows in the
// join that do not fulfil it.
func (s *selection) condition(c any, filter set, inner bool) {
	s.conditions = append(s.conditions, c)
	n := object(c)
	if n["type"] == "COMPARE_EQUAL" {
		left, ok1 := s.refs(n["left"])
		right, ok2 := s.refs(n["right"])
		if u, v := left.only(), right.only(); ok1 && ok2 && u >= 0 && v >= 0 && u != v {
			s.edges = append(s.edges, edge{of: [2]int{u, v}, keys: [2]any{n["left"], n["right"]}, inner: inner})
			return
		}
	}
	refs, ok := s.refs(c)
	s.compared = s.compared || refs != 0 && refs.only() < 0
	for i, r := range s.relations {
		r.filtered = r.filtered || !ok || refs.has(i)
	}
	if i := refs.only(); ok && i >= 0 && filter.has(i) {
		s.relations[i].filters = append(s.relations[i].filters, c)
	}
}

// readGroups resolves the numbers and names of GROUP BY. It reports false where one is not
// understood.
func (s *selection) readGroups() bool {
	items := list(s.node["select_list"])
	groups := list(s.node["group_expressions"])
	if s.node["aggregate_handling"] == "FORCE_AGGREGATES" {
		for _, item := range items {
			if !containsAggregate(item) {
				groups = append(groups, item)
			}
		}
	}
	for _, g := range groups {
		n := object(g)
		if n["class"] == "CONSTANT" {
			at, ok := integer(object(n["value"])["value"])
			if !ok || at < 1 || at > len(items) {
				return false
			}
			g = items[at-1]
		} else if names := columnNames(n); len(names) == 1 && s.named(names[0]) == nil && s.aliases[names[0]] != nil {
			g = s.aliases[names[0]]
		}
		if _, ok := s.refs(g); !ok {
			return false
		}
		group := object(clone(g))
		if group == nil {
			return false
		}
		group["alias"] = ""
		s.groups = append(s.groups, group)
	}
	return true
}

// named returns the relations that have a column.
func (s *selection) named(column string) []int {
	var all []int
	for i, r := range s.relations {
		if r.has(column) {
			all = append(all, i)
		}
	}
	return all
}

// relation returns the position of a relation by its name; -1 for none.
func (s *selection) relation(name string) int {
	return slices.IndexFunc(s.relations, func(r *relation) bool { return r.name == name })
}

// refs returns the relations whose columns an expression names, without the columns of USING.
// It reports false where that is not certain.
func (s *selection) refs(v any) (all set, ok bool) { return s.refsWithin(v, 0) }

func (s *selection) refsWithin(v any, depth int) (all set, ok bool) {
	const maxDepth = 4 // of names for expressions with names
	ok = depth < maxDepth
	visit(v, func(n node) bool {
		switch n["class"] {
		case "SUBQUERY", "LAMBDA", "STAR", "POSITIONAL_REFERENCE":
			ok = false
		case "COLUMN_REF":
			found, known := s.resolve(columnNames(n), depth)
			all, ok = all|found, ok && known
		}
		return ok
	})
	return all, ok
}

func (s *selection) resolve(names []string, depth int) (set, bool) {
	if len(names) == 0 {
		return 0, false
	}
	if i := s.relation(names[0]); i >= 0 && (len(names) == 1 && len(s.named(names[0])) == 0 || len(names) > 1 && s.relations[i].has(names[1])) {
		return 1 << i, true
	}
	if s.merged[names[0]] {
		return 0, true
	}
	switch owners := s.named(names[0]); {
	case len(owners) == 1:
		return 1 << owners[0], true
	case len(owners) == 0 && s.aliases[names[0]] != nil:
		return s.refsWithin(s.aliases[names[0]], depth+1)
	}
	return 0, false
}
