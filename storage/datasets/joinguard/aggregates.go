package joinguard

import (
	"slices"
	"strings"

	"parley/storage/datasets/sqlcheck"
)

// sensitive are the aggregates of one argument that a repeated row changes, and the
// aggregates of a list that do the same.
var sensitive = map[string]string{
	"sum": "sum", "count": "count", "avg": "avg", "mean": "avg", "median": "median",
	"stddev": "stddev_samp", "stddev_samp": "stddev_samp", "stddev_pop": "stddev_pop",
	"variance": "var_samp", "var_samp": "var_samp", "var_pop": "var_pop",
}

// aggregate is a call of an aggregate that a repeated row changes.
type aggregate struct {
	node node
	// function is one of sensitive's values; of are the relations of its argument, none
	// where it counts the rows of the join.
	function string
	of       set
}

func functionName(n node) string {
	if n["class"] != "FUNCTION" {
		return ""
	}
	return strings.ToLower(text(n["function_name"]))
}

// aggregates returns the calls in SELECT, HAVING, QUALIFY and ORDER BY that are covered.
func (s *selection) aggregates() []aggregate {
	var all []aggregate
	if slices.ContainsFunc(list(s.node["select_list"]), func(v any) bool { return object(v)["class"] == "STAR" }) {
		return nil // the rows would have further columns
	}
	for _, key := range []string{"select_list", "having", "qualify", "modifiers"} {
		visit(s.node[key], func(n node) bool {
			if n["class"] == "SUBQUERY" {
				return false
			}
			name := functionName(n)
			if distinct, _ := n["distinct"].(bool); name == "" || distinct || len(list(object(n["order_bys"])["orders"])) > 0 {
				return true
			}
			args := list(n["children"])
			if name == "count_star" && len(args) == 0 {
				all = append(all, aggregate{node: n, function: "count"})
				return false
			}
			function, ok := sensitive[name]
			if !ok || len(args) != 1 {
				return true
			}
			if of, ok := s.refs(args[0]); ok {
				all = append(all, aggregate{node: n, function: function, of: of})
			}
			return false
		})
	}
	return all
}

// containsAggregate reports whether an expression calls an aggregate.
func containsAggregate(v any) bool {
	found := false
	visit(v, func(n node) bool {
		found = found || sqlcheck.IsAggregate(functionName(n))
		return !found && n["class"] != "SUBQUERY"
	})
	return found
}
