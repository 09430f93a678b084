package sqlcheck

import "strings"

// cte is a common table expression; outer is the one before it.
type cte struct {
	outer *cte
	name  string
	rel   relation
}

func (e *cte) find(name string) *cte {
	for ; e != nil; e = e.outer {
		if strings.EqualFold(e.name, name) {
			return e
		}
	}
	return nil
}

// query checks a query and returns its columns. with are the names from WITH that it sees,
// outer is its outer scope.
func (c *checker) query(n node, with *cte, outer *scope) relation {
	defer c.deeper()()
	with = c.with(n, with, outer)
	switch kind := c.text(n["type"]); kind {
	case "SELECT_NODE":
		return c.selection(n, with, outer)
	case "SET_OPERATION_NODE":
		return c.combination(n, with, outer)
	case "RECURSIVE_CTE_NODE":
		c.refuse("a recursive query belongs in WITH RECURSIVE")
	}
	c.refuse("only SELECT is allowed")
	return relation{}
}

// with adds the names of a query's WITH. Each sees those before it, and itself in the
// second part of a recursion.
func (c *checker) with(n node, with *cte, outer *scope) *cte {
	holder := c.object(n["cte_map"])
	c.enter(holder, "map")
	for _, v := range c.list(holder["map"]) {
		entry := c.object(v)
		c.enter(entry, "key", "value")
		name, value := c.text(entry["key"]), c.object(entry["value"])
		if systemName(name) {
			c.refuse("`%s` cannot be a name in WITH; choose another", name)
		}
		c.enter(value, "aliases", "query", "key_targets", "materialized")
		query := c.wrapped(value["query"])
		aliases := c.texts(value["aliases"])
		var rel relation
		if c.text(query["type"]) == "RECURSIVE_CTE_NODE" {
			rel = c.recursion(query, name, aliases, with, outer)
		} else {
			rel = c.query(query, with, outer)
		}
		for _, key := range c.list(value["key_targets"]) {
			c.expr(key, unsure(outer), with)
		}
		c.countRelation()
		with = &cte{outer: with, name: name, rel: c.renamed(rel, aliases)}
	}
	return with
}

// systemName reports whether a name is like those of DuckDB's own views. Should DuckDB
// resolve a name in WITH differently, it must not find such a view.
func systemName(name string) bool {
	lower := strings.ToLower(name)
	for _, prefix := range []string{"duckdb_", "pragma_", "pg_", "sqlite_"} {
		if strings.HasPrefix(lower, prefix) {
			return true
		}
	}
	return false
}

func (c *checker) recursion(n node, name string, aliases []string, with *cte, outer *scope) relation {
	defer c.deeper()()
	c.enter(n, "type", "modifiers", "cte_map", "cte_name", "union_all", "left", "right", "aliases", "key_targets")
	if !strings.EqualFold(c.text(n["cte_name"]), name) {
		c.refuse("the query cannot be read")
	}
	with = c.with(n, with, outer)
	rel := c.query(c.object(n["left"]), with, outer)
	inner := &cte{outer: with, name: name, rel: c.renamed(rel, aliases)}
	c.query(c.object(n["right"]), inner, outer)
	for _, key := range c.list(n["key_targets"]) {
		c.expr(key, unsure(outer), inner)
	}
	c.modifiers(n, unsure(outer), inner)
	return rel
}

func (c *checker) combination(n node, with *cte, outer *scope) relation {
	c.enter(n, "type", "modifiers", "cte_map", "setop_type", "left", "right", "setop_all", "children")
	if len(c.list(n["children"])) > 0 {
		c.refuse("the query uses a part of SQL that is not allowed")
	}
	left := c.query(c.object(n["left"]), with, outer)
	right := c.query(c.object(n["right"]), with, outer)
	switch c.text(n["setop_type"]) {
	case "UNION", "EXCEPT", "INTERSECT":
	case "UNION_BY_NAME":
		c.widen(left.columns.len(), right.columns.len())
		left = relation{columns: left.columns.with(right.columns), open: left.open || right.open}
	default:
		c.refuse("the query uses a part of SQL that is not allowed")
	}
	// DuckDB decides which side's columns ORDER BY names.
	c.modifiers(n, unsure(outer), with)
	return left
}

func (c *checker) selection(n node, with *cte, outer *scope) relation {
	c.enter(n, "type", "modifiers", "cte_map", "select_list", "from_table", "where_clause", "group_expressions",
		"group_sets", "aggregate_handling", "having", "sample", "qualify")
	s := &scope{outer: outer}
	c.from(n["from_table"], s, with)
	c.sample(n["sample"])
	items := c.list(n["select_list"])
	s.aliases = map[string]bool{}
	for _, item := range items {
		if alias, _ := c.object(item)["alias"].(string); alias != "" {
			s.aliases[strings.ToLower(alias)] = true
		}
	}
	for _, item := range items {
		c.expr(item, s, with)
	}
	for _, key := range []string{"where_clause", "having", "qualify"} {
		c.optional(n[key], s, with)
	}
	c.exprs(n["group_expressions"], s, with)
	c.modifiers(n, s, with)
	return c.output(items, s)
}

// modifiers checks ORDER BY, LIMIT and DISTINCT.
func (c *checker) modifiers(n node, s *scope, with *cte) {
	for _, v := range c.list(n["modifiers"]) {
		m := c.object(v)
		switch c.text(m["type"]) {
		case "ORDER_MODIFIER":
			c.orderModifier(m, s, with)
		case "LIMIT_MODIFIER", "LIMIT_PERCENT_MODIFIER":
			c.enter(m, "type", "limit", "offset")
			c.optional(m["limit"], s, with)
			c.optional(m["offset"], s, with)
		case "DISTINCT_MODIFIER":
			c.enter(m, "type", "distinct_on_targets")
			c.exprs(m["distinct_on_targets"], s, with)
		default:
			c.refuse("the query uses a part of SQL that is not allowed")
		}
	}
}

func (c *checker) orderModifier(m node, s *scope, with *cte) {
	c.enter(m, "type", "orders")
	c.orders(m["orders"], s, with)
}

func (c *checker) orders(v any, s *scope, with *cte) {
	for _, item := range c.list(v) {
		order := c.object(item)
		c.enter(order, "type", "null_order", "expression")
		c.expr(order["expression"], s, with)
	}
}

func (c *checker) sample(v any) {
	if v == nil {
		return
	}
	sample := c.object(v)
	c.enter(sample, "sample_size", "is_percentage", "method", "seed")
	c.constant(sample["sample_size"])
}
