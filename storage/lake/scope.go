package lake

import (
	"slices"
	"strings"
)

// relation is something with columns that a query reads from.
type relation struct {
	// name is what the query calls it, table the dataset that it is, if any.
	name, table string
	columns     []string
	// open says that there may be columns that are not known.
	open bool
}

func (r relation) has(column string) bool {
	return slices.ContainsFunc(r.columns, func(c string) bool { return strings.EqualFold(c, column) })
}

// renamed gives the relation with its first columns called otherwise.
func (r relation) renamed(aliases []string) relation {
	if len(aliases) == 0 {
		return r
	}
	columns := slices.Clone(aliases)
	if len(r.columns) > len(aliases) && !r.open {
		columns = append(columns, r.columns[len(aliases):]...)
	}
	r.columns = columns
	return r
}

// scope is what a name can mean at some place in a query.
type scope struct {
	outer     *scope
	relations []relation
	// aliases are names that SELECT gives, params those of a lambda.
	aliases, params map[string]bool
	// unsure says that names here may mean more than is known.
	unsure bool
}

// unsure gives a scope in which any column may exist.
func unsure(outer *scope) *scope { return &scope{outer: outer, unsure: true} }

// add adds what a node of FROM reads to the scope, under its alias.
func (s *scope) add(r relation, n node, columns []string) {
	if alias, _ := n["alias"].(string); alias != "" {
		r.name = alias
	}
	s.relations = append(s.relations, r.renamed(columns))
}

// valueNames are written like columns and are functions.
var valueNames = map[string]bool{
	"current_date": true, "current_time": true, "current_timestamp": true, "localtime": true, "localtimestamp": true,
}

// resolve refuses a column that surely does not exist. Where names could mean
// something that is not known here, DuckDB has the word.
func (c *checker) resolve(names []string, s *scope) {
	if len(names) == 0 {
		c.refuse("the query cannot be read")
	}
	first := strings.ToLower(names[0])
	if len(names) == 1 && valueNames[first] {
		return
	}
	var qualifier *relation
	for at := s; at != nil; at = at.outer {
		if at.unsure || at.aliases[first] || at.params[first] {
			return
		}
		for i, r := range at.relations {
			switch {
			case r.open || r.has(first):
				return
			case !strings.EqualFold(r.name, first):
			case len(names) == 1 || r.has(names[1]):
				return
			case qualifier == nil:
				qualifier = &at.relations[i]
			}
		}
	}
	switch {
	case qualifier != nil:
		c.unknownColumn(names[1], []relation{*qualifier})
	case len(names) == 1:
		c.unknownColumn(names[0], s.nearest())
	case len(names) == 2:
		c.unknownRelation(names[0], s)
	}
}

// resolveRelation refuses name.* of what is surely not in FROM.
func (c *checker) resolveRelation(name string, s *scope) {
	for at := s; at != nil; at = at.outer {
		if at.unsure {
			return
		}
		for _, r := range at.relations {
			if r.open || strings.EqualFold(r.name, name) || r.has(name) {
				return
			}
		}
	}
	c.unknownRelation(name, s)
}

// nearest gives the relations of the innermost scope that has some.
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
	var columns, names []string
	for _, r := range in {
		columns = append(columns, r.columns...)
		if r.table != "" {
			names = append(names, r.table)
		} else if r.name != "" {
			names = append(names, r.name)
		}
	}
	where := ""
	if len(names) > 0 {
		where = " in " + quoteAll(slices.Compact(names), " or ")
	}
	c.refuse("column `%s` does not exist%s%s", name, where, didYouMean(name, slices.Compact(columns), "its columns are"))
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

// output gives the columns of a query's result. Where a column has no name that
// is sure, the result is open.
func (c *checker) output(items []any, s *scope) relation {
	var out relation
	for _, v := range items {
		item := c.object(v)
		alias, _ := item["alias"].(string)
		switch class := c.text(item["class"]); {
		case alias != "":
			out.columns = append(out.columns, alias)
		case class == "COLUMN_REF":
			names := c.texts(item["column_names"])
			out.columns = append(out.columns, names[len(names)-1])
		case class == "STAR" && plainStar(item):
			relation, _ := item["relation_name"].(string)
			for _, r := range s.relations {
				if relation == "" || strings.EqualFold(relation, r.name) {
					c.widen(out, len(r.columns))
					out.columns = append(out.columns, r.columns...)
					out.open = out.open || r.open
				}
			}
		default:
			out.open = true
		}
	}
	return out
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
