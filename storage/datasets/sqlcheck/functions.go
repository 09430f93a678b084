package sqlcheck

import (
	_ "embed"
	"maps"
	"slices"
	"strings"
)

//go:embed functions.txt
var functionList string

// The functions that queries may call, in lower case.
var (
	operators, scalars, aggregates, tableFunctions = parseFunctions(functionList)
	// byName are functions that call an aggregate, whose name is their second
	// argument.
	byName = map[string]bool{"aggregate": true, "array_aggr": true, "array_aggregate": true, "list_aggr": true, "list_aggregate": true}
	// functionNames are those that a person would write, for near misses.
	functionNames = append(keys(scalars), keys(aggregates)...)
)

// IsAggregate reports whether a function, in lower case, is an aggregate.
func IsAggregate(name string) bool { return aggregates[name] }

func parseFunctions(list string) (operators, scalars, aggregates, tables map[string]bool) {
	operators, scalars, aggregates, tables = map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	sections := map[string]map[string]bool{
		"[operator]": operators, "[scalar]": scalars, "[aggregate]": aggregates, "[table]": tables,
	}
	var section map[string]bool
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if s, ok := sections[line]; ok {
			section = s
			continue
		}
		if strings.HasPrefix(line, "#") || section == nil {
			continue
		}
		for name := range strings.FieldsSeq(line) {
			section[strings.ToLower(name)] = true
		}
	}
	return operators, scalars, aggregates, tables
}

func keys(set map[string]bool) []string { return slices.Collect(maps.Keys(set)) }
