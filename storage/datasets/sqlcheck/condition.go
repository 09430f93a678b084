package sqlcheck

import (
	"slices"
	"strings"

	"parley/storage/datasets/match"
)

// volatile are functions and words whose value changes by itself: what was read of a dataset is
// kept for a while, also in memory.
var volatile = []string{
	"now", "today", "tomorrow", "yesterday", "current_date", "current_time", "current_timestamp", "get_current_timestamp", "get_current_time", "transaction_timestamp",
	"localtime", "localtimestamp", "current_localtime", "current_localtimestamp", "age", "random", "uuid", "uuidv4", "uuidv7", "gen_random_uuid", "setseed", "nextval", "currval",
}

// CheckCondition checks the WHERE clause of a checked `SELECT 1 FROM table WHERE …`: it is one
// expression over the columns of the table, and has the same value each time.
func CheckCondition(checked Checked) error {
	one := refusal("the condition must be one SQL expression over the columns of the dataset")
	statements, _ := checked.Tree["statements"].([]any)
	if len(statements) != 1 {
		return one
	}
	statement, _ := statements[0].(map[string]any)
	query, _ := statement["node"].(map[string]any)
	from, _ := query["from_table"].(map[string]any)
	selected, _ := query["select_list"].([]any)
	if query["type"] != "SELECT_NODE" || from["type"] != "BASE_TABLE" || len(selected) != 1 || query["where_clause"] == nil {
		return one
	}
	for key, value := range query {
		switch key {
		case "type", "from_table", "select_list", "where_clause", "aggregate_handling":
		default:
			if !isNone(value) {
				return one
			}
		}
	}
	return checkCondition(query["where_clause"])
}

// isNone reports whether a part of a query is missing.
func isNone(value any) bool {
	switch value := value.(type) {
	case []any:
		return len(value) == 0
	case map[string]any: // names from WITH
		for _, part := range value {
			if !isNone(part) {
				return false
			}
		}
		return true
	}
	return value == nil
}

// checkCondition checks a part of a condition.
func checkCondition(part any) error {
	switch part := part.(type) {
	case []any:
		for _, item := range part {
			if err := checkCondition(item); err != nil {
				return err
			}
		}
	case map[string]any:
		name, _ := part["function_name"].(string)
		names, _ := part["column_names"].([]any)
		switch class := part["class"]; {
		case class == "SUBQUERY":
			return refusal("a condition must not have a subquery")
		case class == "WINDOW", class == "STAR", class == "POSITIONAL_REFERENCE":
			return refusal("a condition must not have window functions, * or #")
		case class == "COLUMN_REF" && len(names) != 1:
			return refusal("write columns in a condition without the name of the dataset")
		case class == "COLUMN_REF": // CURRENT_DATE looks like one
			name, _ = names[0].(string)
		case class == "CONSTANT": // 'today' is a date
			value, _ := part["value"].(map[string]any)
			name, _ = value["value"].(string)
		}
		switch function := functionIn(part); function {
		case "match", match.TermsFunction: // DuckDB alone, which downloads use, has none
			return refusal("a condition must not use `%s`: it is for searches", function)
		}
		if slices.Contains(volatile, strings.ToLower(strings.TrimSpace(name))) {
			return refusal("a condition must not use `%s`: its value changes by itself", name)
		}
		for _, value := range part {
			if err := checkCondition(value); err != nil {
				return err
			}
		}
	}
	return nil
}
