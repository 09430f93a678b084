package sqlcheck

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"parley/storage/datasets/match"
)

// addScore adds a score to a query that calls match and has none: the best of its match(…)
// as one more column. Aggregated rows have no score. It returns the new text and the tree
// that this text must have, or "" when there is nothing to add.
//
// It edits the user's text, since SQL that DuckDB writes from a tree does not always mean
// the same.
func addScore(sql string, root, query node) (text string, tree any) {
	if !scorable(query) {
		return "", nil
	}
	items, _ := query["select_list"].([]any)
	var matches []any
	seen := map[string]bool{}
	for _, part := range []any{query["where_clause"], query["qualify"], items, query["modifiers"]} {
		collectMatches(part, seen, &matches)
	}
	if len(matches) == 0 {
		return "", nil
	}
	sql = plainSpaces(sql)
	tokens := tokenize(sql)
	calls := make([]string, len(matches))
	for i, match := range matches {
		offset, err := strconv.Atoi(fmt.Sprint(match.(map[string]any)["query_location"]))
		if calls[i] = callAt(sql, tokens, offset); err != nil || calls[i] == "" {
			return "", nil
		}
	}
	score, scoreText := matches[0], calls[0]
	if len(matches) > 1 {
		score, scoreText = call("greatest", matches), "greatest("+strings.Join(calls, ", ")+")"
	}
	named := maps.Clone(score.(map[string]any))
	named["alias"] = match.ScoreColumn
	scored := maps.Clone(query)
	scored["select_list"] = append(slices.Clip(items), named)
	statement := map[string]any{"node": map[string]any(scored), "named_param_map": []any{}}
	want := maps.Clone(root)
	want["statements"] = []any{statement}
	return addItem(sql, tokens, scoreText+" AS "+match.ScoreColumn), map[string]any(want)
}

// scorable reports whether a score can be added: each row is one of the source, and the
// query has no score.
func scorable(query node) bool {
	if query["type"] != "SELECT_NODE" || query["having"] != nil || query["aggregate_handling"] != "STANDARD_HANDLING" {
		return false
	}
	if groups, _ := query["group_expressions"].([]any); len(groups) > 0 {
		return false
	}
	items, _ := query["select_list"].([]any)
	for _, v := range items {
		item, _ := v.(map[string]any)
		if alias, _ := item["alias"].(string); alias == match.ScoreColumn || aggregated(item) {
			return false
		}
	}
	modifiers, _ := query["modifiers"].([]any)
	return !slices.ContainsFunc(modifiers, func(v any) bool {
		m, _ := v.(map[string]any)
		return m["type"] == "DISTINCT_MODIFIER"
	})
}

// unlocated returns a copy of a tree without offsets.
func unlocated(v any) any {
	switch v := v.(type) {
	case map[string]any:
		copied := make(map[string]any, len(v))
		for key, value := range v {
			if key != "query_location" {
				copied[key] = unlocated(value)
			}
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, value := range v {
			copied[i] = unlocated(value)
		}
		return copied
	}
	return v
}

// SameTree compares DuckDB's tree with another, without regard to offsets.
func SameTree(tree []byte, want any) bool {
	got, err := DecodeTree(tree)
	return err == nil && reflect.DeepEqual(unlocated(got), unlocated(want))
}

// eachChild calls f with the children of an expression, without nested queries.
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

// aggregated reports whether an expression contains an aggregate.
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
		bare := maps.Clone(v.(map[string]any))
		bare["alias"] = ""
		if text, err := json.Marshal(unlocated(bare)); err == nil && !seen[string(text)] {
			seen[string(text)] = true
			*found = append(*found, bare)
		}
		return
	}
	// A lambda's parameters do not exist outside of it.
	if n, _ := v.(map[string]any); n["class"] == "LAMBDA" {
		return
	}
	eachChild(v, func(child any) { collectMatches(child, seen, found) })
}

func call(name string, args []any) any {
	return map[string]any{
		"class": "FUNCTION", "type": "FUNCTION", "alias": "", "query_location": json.Number("0"),
		"function_name": name, "schema": "", "catalog": "", "children": args, "filter": nil,
		"order_bys": map[string]any{"type": "ORDER_MODIFIER", "orders": []any{}},
		"distinct":  false, "is_operator": false, "export_state": false,
	}
}
