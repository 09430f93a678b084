package lake

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
)

// addScore gives the rows of a query that matches text their score, where the
// query does not do so itself: the best of its match(…) as one more column. It
// reports whether it changed the query. Rows that stand for many have none.
func addScore(query node) bool {
	if query["type"] != "SELECT_NODE" || query["having"] != nil || query["aggregate_handling"] != "STANDARD_HANDLING" {
		return false
	}
	if groups, _ := query["group_expressions"].([]any); len(groups) > 0 {
		return false
	}
	items, _ := query["select_list"].([]any)
	for _, v := range items {
		item, _ := v.(map[string]any)
		if alias, _ := item["alias"].(string); alias == scoreColumn || aggregated(item) {
			return false
		}
	}
	modifiers, _ := query["modifiers"].([]any)
	for _, v := range modifiers {
		if m, _ := v.(map[string]any); m["type"] == "DISTINCT_MODIFIER" {
			return false
		}
	}
	var matches []any
	seen := map[string]bool{}
	for _, part := range []any{query["where_clause"], query["qualify"], items, modifiers} {
		collectMatches(part, seen, &matches)
	}
	if len(matches) == 0 {
		return false
	}
	score := matches[0]
	if len(matches) > 1 {
		score = call("greatest", matches)
	}
	named := map[string]any{}
	for key, value := range score.(map[string]any) {
		named[key] = value
	}
	named["alias"] = scoreColumn
	query["select_list"] = append(items, named)
	return true
}

// eachChild calls f with the expressions inside an expression, without those of
// queries nested in it.
func eachChild(v any, f func(any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "subquery" {
				f(v[key])
			}
		}
	case []any:
		for _, child := range v {
			f(child)
		}
	}
}

func functionIn(v any) string {
	n, _ := v.(map[string]any)
	if n["class"] != "FUNCTION" {
		return ""
	}
	name, _ := n["function_name"].(string)
	return strings.ToLower(name)
}

// aggregated reports whether an expression stands for many rows.
func aggregated(v any) bool {
	if aggregates[functionIn(v)] {
		return true
	}
	found := false
	eachChild(v, func(child any) { found = found || aggregated(child) })
	return found
}

// collectMatches finds the calls of match, each once.
func collectMatches(v any, seen map[string]bool, found *[]any) {
	if functionIn(v) == "match" {
		bare := map[string]any{}
		for key, value := range v.(map[string]any) {
			bare[key] = value
		}
		bare["alias"] = ""
		delete(bare, "query_location")
		if text, err := json.Marshal(bare); err == nil && !seen[string(text)] {
			seen[string(text)] = true
			bare["query_location"] = v.(map[string]any)["query_location"]
			*found = append(*found, bare)
		}
		return
	}
	// Lists of a lambda's own names could not be called outside of it.
	if n, _ := v.(map[string]any); n["class"] == "LAMBDA" {
		return
	}
	eachChild(v, func(child any) { collectMatches(child, seen, found) })
}

// call makes the tree of a function call.
func call(name string, args []any) any {
	return map[string]any{
		"class": "FUNCTION", "type": "FUNCTION", "alias": "", "query_location": json.Number("0"),
		"function_name": name, "schema": "", "catalog": "", "children": args, "filter": nil,
		"order_bys": map[string]any{"type": "ORDER_MODIFIER", "orders": []any{}},
		"distinct":  false, "is_operator": false, "export_state": false,
	}
}
