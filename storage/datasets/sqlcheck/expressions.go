package sqlcheck

import (
	"maps"
	"slices"
	"strings"
)

func (c *checker) optional(v any, s *scope, with *cte) {
	if v != nil {
		c.expr(v, s, with)
	}
}

func (c *checker) exprs(v any, s *scope, with *cte) {
	for _, item := range c.list(v) {
		c.expr(item, s, with)
	}
}

// part checks one key of an expression.
type part func(c *checker, v any, s *scope, with *cte)

func ignored(*checker, any, *scope, *cte) {}

var (
	one      part = (*checker).expr
	maybe    part = (*checker).optional
	many     part = (*checker).exprs
	ordering part = func(c *checker, v any, s *scope, with *cte) { c.orders(v, s, with) }
)

// expressions are the allowed kinds and the checks of their keys; expr has further checks.
var expressions map[string]map[string]part

// A variable's initializer could not name functions that use it.
func init() {
	expressions = map[string]map[string]part{
		"BETWEEN":              {"input": one, "lower": one, "upper": one},
		"CASE":                 {"case_checks": (*checker).caseChecks, "else_expr": maybe},
		"CAST":                 {"child": one, "cast_type": func(c *checker, v any, _ *scope, _ *cte) { c.dataType(v) }, "try_cast": ignored},
		"COLLATE":              {"child": one, "collation": ignored},
		"COMPARISON":           {"left": one, "right": one},
		"CONJUNCTION":          {"children": many},
		"CONSTANT":             {"value": func(c *checker, v any, _ *scope, _ *cte) { c.constant(v) }},
		"OPERATOR":             {"children": many},
		"POSITIONAL_REFERENCE": {"index": ignored},
		"SUBQUERY": {"subquery_type": ignored, "comparison_type": ignored, "child": maybe,
			"subquery": func(c *checker, v any, s *scope, with *cte) { c.query(c.wrapped(v), with, s) }},
		"WINDOW": {"function_name": ignored, "schema": ignored, "catalog": ignored, "children": many, "partitions": many,
			"orders": ordering, "arg_orders": ordering, "start": ignored, "end": ignored, "start_expr": maybe, "end_expr": maybe,
			"offset_expr": maybe, "default_expr": maybe, "filter_expr": maybe, "ignore_nulls": ignored, "distinct": ignored,
			"exclude_clause": ignored},
		"FUNCTION": {"function_name": ignored, "schema": ignored, "catalog": ignored, "children": many, "filter": maybe,
			"order_bys": func(c *checker, v any, s *scope, with *cte) {
				if v != nil {
					c.orderModifier(c.object(v), s, with)
				}
			},
			"distinct": ignored, "is_operator": ignored, "export_state": ignored},
		"COLUMN_REF": {"column_names": ignored},
		"LAMBDA":     {"lhs": ignored, "expr": ignored, "syntax_type": ignored},
		"STAR": {"relation_name": ignored, "exclude_list": ignored, "qualified_exclude_list": ignored, "rename_list": ignored,
			"replace_list": (*checker).replacements, "columns": ignored, "unpacked": ignored, "expr": ignored},
	}
}

// operatorKinds are the allowed kinds of OPERATOR.
var operatorKinds = map[string]bool{
	"OPERATOR_NOT": true, "OPERATOR_IS_NULL": true, "OPERATOR_IS_NOT_NULL": true, "OPERATOR_COALESCE": true,
	"OPERATOR_NULLIF": true, "OPERATOR_TRY": true, "OPERATOR_UNPACK": true, "COMPARE_IN": true, "COMPARE_NOT_IN": true,
	"ARRAY_EXTRACT": true, "ARRAY_SLICE": true, "STRUCT_EXTRACT": true, "ARRAY_CONSTRUCTOR": true, "ARROW": true,
	"GROUPING_FUNCTION": true,
}

func (c *checker) expr(v any, s *scope, with *cte) {
	defer c.deeper()()
	n := c.object(v)
	class := c.text(n["class"])
	parts, ok := expressions[class]
	if !ok {
		switch class {
		case "PARAMETER":
			c.refuse("parameters such as ? and $1 are not allowed; write the values")
		case "DEFAULT":
			c.refuse("DEFAULT is not allowed")
		}
		c.refuse("the query uses a part of SQL that is not allowed")
	}
	switch class {
	case "FUNCTION", "WINDOW":
		c.allowedFunction(n)
	case "OPERATOR":
		if !operatorKinds[c.text(n["type"])] {
			c.refuse("the query uses an operator that is not allowed")
		}
	case "COLUMN_REF":
		c.resolve(c.texts(n["column_names"]), s)
	case "LAMBDA":
		c.lambda(n, s, with)
	case "STAR":
		c.star(n, s, with)
	}
	c.partsOf(n, parts, s, with)
}

func (c *checker) partsOf(n node, parts map[string]part, s *scope, with *cte) {
	keys := []string{"class", "type", "alias", "query_location"}
	for key := range parts {
		keys = append(keys, key)
	}
	c.enter(n, keys...)
	for _, key := range slices.Sorted(maps.Keys(parts)) {
		parts[key](c, n[key], s, with)
	}
}

func (c *checker) functionName(n node) string {
	name := c.text(n["function_name"])
	// The parser adds a schema to functions for syntax such as [1, 2].
	schema := c.text(n["schema"])
	if schema != "" && schema != "main" && schema != "pg_catalog" || c.text(n["catalog"]) != "" {
		c.refuse("call `%s` without anything before its name", name)
	}
	return name
}

func (c *checker) allowedFunction(n node) {
	name := c.functionName(n)
	if exported, _ := n["export_state"].(bool); exported {
		c.refuse("EXPORT_STATE is not allowed")
	}
	lower := strings.ToLower(name)
	if !scalars[lower] && !aggregates[lower] && !operators[lower] {
		c.refuse("function `%s` does not exist or is not allowed%s", name, didYouMean(name, functionNames, ""))
	}
	if byName[lower] {
		c.allowedAggregate(name, c.list(n["children"]))
	}
}

// allowedAggregate checks the aggregate that a function calls by the name in its second
// argument, which must be a constant, and not moved by an unpacked argument.
func (c *checker) allowedAggregate(function string, args []any) {
	unpacked := func(v any) bool { return c.object(v)["type"] == "OPERATOR_UNPACK" }
	if len(args) < 2 || slices.ContainsFunc(args, unpacked) || c.object(args[1])["class"] != "CONSTANT" {
		c.refuse("`%s` needs a list and the name of an aggregate, such as 'sum'", function)
	}
	name, _ := c.object(c.object(args[1])["value"])["value"].(string)
	if !aggregates[strings.ToLower(name)] {
		c.refuse("function `%s` does not exist or is not allowed%s", name, didYouMean(name, keys(aggregates), ""))
	}
}

func (c *checker) caseChecks(v any, s *scope, with *cte) {
	for _, item := range c.list(v) {
		check := c.object(item)
		c.enter(check, "when_expr", "then_expr")
		c.expr(check["when_expr"], s, with)
		c.expr(check["then_expr"], s, with)
	}
}

func (c *checker) replacements(v any, s *scope, with *cte) {
	for _, item := range c.list(v) {
		entry := c.object(item)
		c.enter(entry, "key", "value")
		c.expr(entry["value"], s, with)
	}
}

// star checks * and COLUMNS(…). Inside the latter, names are its own.
func (c *checker) star(n node, s *scope, with *cte) {
	c.optional(n["expr"], unsure(s), with)
	if name, _ := n["relation_name"].(string); name != "" {
		c.resolveRelation(name, s)
	}
}

// lambda checks x -> f(x). The same operator extracts from JSON: then the left side is a
// column, which DuckDB checks.
func (c *checker) lambda(n node, s *scope, with *cte) {
	c.expr(n["lhs"], unsure(s), with)
	inner := &scope{outer: s, params: map[string]bool{}}
	c.parameters(c.object(n["lhs"]), inner.params)
	c.expr(n["expr"], inner, with)
}

func (c *checker) parameters(n node, params map[string]bool) {
	if names, ok := n["column_names"]; ok {
		if names := c.texts(names); len(names) == 1 {
			params[strings.ToLower(names[0])] = true
		}
	}
	for _, child := range c.list(n["children"]) {
		c.parameters(c.object(child), params)
	}
}

func (c *checker) constant(v any) {
	c.enter(c.object(v), "type", "is_null", "value")
}

// dataType checks the type of a cast: built in, as are its parts.
func (c *checker) dataType(v any) {
	defer c.deeper()()
	t := c.object(v)
	c.enter(t, "id", "type_info")
	if t["type_info"] == nil {
		return
	}
	info := c.object(t["type_info"])
	c.enter(info, "type", "alias", "extension_info", "width", "scale", "child_type", "size", "child_types",
		"name", "catalog", "schema", "user_type_modifiers", "collation", "values_count", "values", "geometry_crs", "crs")
	if info["extension_info"] != nil {
		c.refuse("the query uses a type that is not allowed")
	}
	for _, key := range []string{"catalog", "schema"} {
		if where, _ := info[key].(string); where != "" {
			c.refuse("type `%s` does not exist", c.text(info["name"]))
		}
	}
	if child, ok := info["child_type"]; ok {
		c.dataType(child)
	}
	for _, item := range c.list(info["child_types"]) {
		member := c.object(item)
		c.enter(member, "first", "second")
		c.dataType(member["second"])
	}
}
