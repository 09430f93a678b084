package sqlcheck

import (
	"cmp"
	"slices"
	"strings"
)

// columns are names of columns, in order. They are immutable and shared.
type columns struct {
	names []string
	// known has the names in lower case, from the first call of has.
	known map[string]struct{}
}

func (c *columns) len() int {
	if c == nil {
		return 0
	}
	return len(c.names)
}

// with returns these columns and others.
func (c *columns) with(others *columns) *columns {
	if c == nil || others == nil {
		return cmp.Or(c, others)
	}
	return &columns{names: slices.Concat(c.names, others.names)}
}

// has reports whether there is a column with a name, given in lower case.
func (c *columns) has(lower string) bool {
	if c == nil {
		return false
	}
	if c.known == nil {
		c.known = make(map[string]struct{}, len(c.names))
		for _, name := range c.names {
			c.known[strings.ToLower(name)] = struct{}{}
		}
	}
	_, ok := c.known[lower]
	return ok
}

// relation is something with columns that a query reads from.
type relation struct {
	// name is what the query calls it, table the dataset that it is, if any.
	name, table string
	columns     *columns
	// open says that there may be unknown columns.
	open bool
}

// renamed returns a relation with other names for its first columns.
func (c *checker) renamed(r relation, aliases []string) relation {
	if len(aliases) == 0 {
		return r
	}
	names := aliases
	if rest := r.columns.len() - len(aliases); rest > 0 && !r.open {
		c.widen(len(aliases), rest)
		names = slices.Concat(aliases, r.columns.names[len(aliases):])
	}
	r.columns = &columns{names: names}
	return r
}

// scope has the names that are visible at a place in a query.
type scope struct {
	outer     *scope
	relations []relation
	// named are the relations by their names in lower case, sets their columns,
	// each once.
	named map[string][]relation
	sets  []*columns
	// found caches lookups in the sets.
	found map[string]bool
	// aliases are names that SELECT gives, params those of a lambda.
	aliases, params map[string]bool
	// unsure says that there may be unknown names.
	unsure bool
}

// unsure returns a scope in which any column may exist.
func unsure(outer *scope) *scope { return &scope{outer: outer, unsure: true} }

// add adds what a node of FROM reads to a scope, under its alias.
func (c *checker) add(s *scope, r relation, n node, aliases []string) {
	c.countRelation()
	if alias, _ := n["alias"].(string); alias != "" {
		r.name = alias
	}
	r = c.renamed(r, aliases)
	s.relations = append(s.relations, r)
	s.unsure = s.unsure || r.open
	if s.named == nil {
		s.named = map[string][]relation{}
	}
	key := strings.ToLower(r.name)
	s.named[key] = append(s.named[key], r)
	if r.columns != nil && !slices.Contains(s.sets, r.columns) {
		s.sets, s.found = append(s.sets, r.columns), nil
	}
}

// has reports whether some relation has a column, given in lower case.
func (s *scope) has(lower string) bool {
	if found, known := s.found[lower]; known {
		return found
	}
	if s.found == nil {
		s.found = map[string]bool{}
	}
	s.found[lower] = slices.ContainsFunc(s.sets, func(set *columns) bool { return set.has(lower) })
	return s.found[lower]
}

// valueNames are written like columns and are functions.
var valueNames = map[string]bool{
	"current_date": true, "current_time": true, "current_timestamp": true, "localtime": true, "localtimestamp": true,
}

// resolve refuses a column that cannot exist. Where names are not certain, DuckDB decides.
func (c *checker) resolve(names []string, s *scope) {
	if len(names) == 0 {
		c.refuse("the query cannot be read")
	}
	first := strings.ToLower(names[0])
	if len(names) == 1 && valueNames[first] {
		return
	}
	var qualified []relation
	for at := s; at != nil; at = at.outer {
		if at.unsure || at.aliases[first] || at.params[first] || at.has(first) {
			return
		}
		for _, r := range at.named[first] {
			if len(names) == 1 || r.columns.has(strings.ToLower(names[1])) {
				return
			}
			qualified = append(qualified, r)
		}
	}
	switch {
	case len(qualified) > 0:
		c.unknownColumn(names[1], qualified[:1])
	case len(names) == 1:
		c.unknownColumn(names[0], s.nearest())
	case len(names) == 2:
		c.unknownRelation(names[0], s)
	}
}

// resolveRelation refuses name.* of a name that cannot be in FROM.
func (c *checker) resolveRelation(name string, s *scope) {
	lower := strings.ToLower(name)
	for at := s; at != nil; at = at.outer {
		if at.unsure || len(at.named[lower]) > 0 || at.has(lower) {
			return
		}
	}
	c.unknownRelation(name, s)
}

// nearest returns the relations of the innermost scope that has some.
func (s *scope) nearest() []relation {
	for ; s != nil; s = s.outer {
		if len(s.relations) > 0 {
			return s.relations
		}
	}
	return nil
}

func (c *checker) unknownColumn(name string, in []relation) {
	if len(in) == 0 {
		c.refuse("column `%s` does not exist: the query reads from no table", name)
	}
	var candidates, names []string
	seen := map[*columns]bool{}
	for _, r := range in {
		if r.columns != nil && !seen[r.columns] && len(candidates) < maxCandidates {
			candidates = append(candidates, r.columns.names...)
		}
		seen[r.columns] = true
		if name := cmp.Or(r.table, r.name); name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	where := ""
	if len(names) > 0 && len(names) <= maxNamed {
		where = " in " + quoteAll(names, " or ")
	}
	c.refuse("column `%s` does not exist%s%s", name, where, didYouMean(name, slices.Compact(candidates), "its columns are"))
}

func (c *checker) unknownRelation(name string, s *scope) {
	var names []string
	for _, r := range s.nearest() {
		if r.name != "" {
			names = append(names, r.name)
		}
	}
	c.refuse("`%s` is no table in the query's FROM%s", name, didYouMean(name, names, "it reads from"))
}

// output returns the columns of a query's result, open where a name is not certain.
func (c *checker) output(items []any, s *scope) relation {
	var out relation
	var names []string
	for _, v := range items {
		item := c.object(v)
		alias, _ := item["alias"].(string)
		switch class := c.text(item["class"]); {
		case alias != "":
			names = append(names, alias)
		case class == "COLUMN_REF":
			path := c.texts(item["column_names"])
			names = append(names, path[len(path)-1])
		case class == "STAR" && plainStar(item):
			sources := s.starred(item)
			width := len(names)
			for _, r := range sources {
				c.widen(width, r.columns.len())
				width += r.columns.len()
				out.open = out.open || r.open
			}
			if len(items) == 1 && len(sources) == 1 {
				return relation{columns: sources[0].columns, open: out.open}
			}
			for _, r := range sources {
				if r.columns != nil {
					names = append(names, r.columns.names...)
				}
			}
		default:
			out.open = true
		}
	}
	out.columns = &columns{names: names}
	return out
}

// starred returns the relations whose columns a star stands for.
func (s *scope) starred(star node) []relation {
	if name, _ := star["relation_name"].(string); name != "" {
		return s.named[strings.ToLower(name)]
	}
	return s.relations
}

// plainStar reports whether a star stands for all columns under their names.
func plainStar(n node) bool {
	for _, key := range []string{"exclude_list", "qualified_exclude_list", "rename_list"} {
		if l, ok := n[key].([]any); ok && len(l) > 0 {
			return false
		}
	}
	columns, _ := n["columns"].(bool)
	return !columns && n["expr"] == nil
}
