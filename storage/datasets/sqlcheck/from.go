package sqlcheck

import "strings"

// from checks what a query reads from, and adds it to the query's scope.
func (c *checker) from(v any, s *scope, with *cte) {
	defer c.deeper()()
	n := c.object(v)
	switch c.text(n["type"]) {
	case "EMPTY":
		c.ref(n)
	case "BASE_TABLE":
		c.ref(n, "schema_name", "table_name", "column_name_alias", "catalog_name", "at_clause")
		c.add(s, c.baseTable(n, with), n, c.texts(n["column_name_alias"]))
	case "SUBQUERY":
		c.ref(n, "subquery", "column_name_alias")
		// A lateral one sees what stands before it.
		rel := c.query(c.wrapped(n["subquery"]), with, s)
		rel.name = ""
		c.add(s, rel, n, c.texts(n["column_name_alias"]))
	case "JOIN":
		c.join(n, s, with)
	case "TABLE_FUNCTION":
		c.tableFunction(n, s, with)
	case "EXPRESSION_LIST":
		c.ref(n, "expected_names", "expected_types", "values")
		for _, row := range c.list(n["values"]) {
			c.exprs(row, s, with)
		}
		c.add(s, relation{open: true}, n, c.texts(n["expected_names"]))
	case "PIVOT":
		c.pivot(n, s, with)
	case "SHOW_REF":
		c.refuse("SHOW, DESCRIBE and SUMMARIZE are not allowed; only SELECT is")
	default:
		c.refuse("the query reads from something that is not allowed")
	}
}

// ref checks the keys that every source has, and refuses others but the given ones.
func (c *checker) ref(n node, keys ...string) {
	c.enter(n, append(keys, "type", "alias", "sample", "query_location")...)
	c.sample(n["sample"])
}

func (c *checker) baseTable(n node, with *cte) relation {
	name := c.text(n["table_name"])
	schema, catalog := c.text(n["schema_name"]), c.text(n["catalog_name"])
	if n["at_clause"] != nil {
		c.refuse("AT is not allowed: tables have no other versions")
	}
	if schema != "" || catalog != "" {
		full := strings.TrimPrefix(catalog+"."+schema+"."+name, ".")
		if _, ok := c.tables[strings.ToLower(full)]; ok {
			c.refuse("write the table's name in double quotes: \"%s\"", full)
		}
		c.refuse("table `%s` does not exist%s", full, didYouMean(name, c.names, "the tables are"))
	}
	if found := with.find(name); found != nil {
		rel := found.rel
		rel.name = name
		return rel
	}
	table, ok := c.tables[strings.ToLower(name)]
	if !ok {
		c.refuse("table `%s` does not exist%s", name, didYouMean(name, c.names, "the tables are"))
	}
	if len(table.Columns) == 0 {
		c.refuse("`%s` is empty: it has no columns yet", table.Name)
	}
	return relation{name: name, table: table.Name, columns: c.columnsOf(table)}
}

// columnsOf returns the columns of a table, the same value each time, and marks it as used.
func (c *checker) columnsOf(table Table) *columns {
	key := strings.ToLower(table.Name)
	if c.used[key] == nil {
		names := make([]string, len(table.Columns))
		for i, column := range table.Columns {
			names[i] = column.Name
		}
		c.used[key] = &columns{names: names}
	}
	return c.used[key]
}

func (c *checker) join(n node, s *scope, with *cte) {
	c.ref(n, "left", "right", "condition", "join_type", "ref_type", "using_columns", "delim_flipped", "duplicate_eliminated_columns")
	if len(c.list(n["duplicate_eliminated_columns"])) > 0 {
		c.refuse("the query uses a part of SQL that is not allowed")
	}
	c.from(n["left"], s, with)
	c.from(n["right"], s, with)
	c.optional(n["condition"], s, with)
}

func (c *checker) tableFunction(n node, s *scope, with *cte) {
	c.ref(n, "function", "column_name_alias", "with_ordinality")
	f := c.object(n["function"])
	if class, _ := f["class"].(string); class != "FUNCTION" {
		c.refuse("the query reads from something that is not allowed")
	}
	name := c.functionName(f)
	if !tableFunctions[strings.ToLower(name)] {
		c.refuse("function `%s` is not allowed in FROM%s", name, didYouMean(name, keys(tableFunctions), ""))
	}
	c.partsOf(f, expressions["FUNCTION"], s, with)
	c.add(s, relation{name: name, open: true}, n, c.texts(n["column_name_alias"]))
}

func (c *checker) pivot(n node, s *scope, with *cte) {
	c.ref(n, "source", "aggregates", "unpivot_names", "pivots", "groups", "column_name_alias", "include_nulls")
	inner := &scope{outer: s}
	c.from(n["source"], inner, with)
	c.exprs(n["aggregates"], inner, with)
	for _, v := range c.list(n["pivots"]) {
		pivot := c.object(v)
		c.enter(pivot, "pivot_expressions", "unpivot_names", "entries", "pivot_enum", "subquery")
		if enum, _ := pivot["pivot_enum"].(string); enum != "" || pivot["subquery"] != nil {
			c.refuse("list the values of PIVOT with IN (…)")
		}
		c.exprs(pivot["pivot_expressions"], unsure(inner), with)
		for _, v := range c.list(pivot["entries"]) {
			entry := c.object(v)
			c.enter(entry, "values", "star_expr", "alias")
			for _, value := range c.list(entry["values"]) {
				c.constant(value)
			}
			c.optional(entry["star_expr"], unsure(inner), with)
		}
	}
	c.add(s, relation{open: true}, n, c.texts(n["column_name_alias"]))
}
