package joinguard

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// node is an object of DuckDB's syntax tree.
type node = map[string]any

func text(v any) string {
	s, _ := v.(string)
	return s
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// first returns the first value of a list; nil of none.
func first(v any) any {
	if l := list(v); len(l) > 0 {
		return l[0]
	}
	return nil
}

func object(v any) node {
	n, _ := v.(node)
	return n
}

// sameNode reports whether two objects are the same one.
func sameNode(a, b node) bool { return reflect.ValueOf(a).Pointer() == reflect.ValueOf(b).Pointer() }

func clone(v any) any { return rewrite(v, func(v any) (any, bool) { return v, false }) }

// rewrite copies a tree. Where f reports true, its value stands in place of the one that it
// was given.
func rewrite(v any, f func(any) (any, bool)) any {
	if replaced, ok := f(v); ok {
		return replaced
	}
	switch v := v.(type) {
	case node:
		copied := make(node, len(v))
		for key, value := range v {
			copied[key] = rewrite(value, f)
		}
		return copied
	case []any:
		copied := make([]any, len(v))
		for i, value := range v {
			copied[i] = rewrite(value, f)
		}
		return copied
	}
	return v
}

// visit calls f with each object of a tree, in a fixed order, until f reports false, which
// leaves out what is below.
func visit(v any, f func(node) bool) {
	switch v := v.(type) {
	case node:
		if !f(v) {
			return
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			visit(v[key], f)
		}
	case []any:
		for _, item := range v {
			visit(item, f)
		}
	}
}

// conjuncts returns the conditions of a condition that is made with AND.
func conjuncts(v any) []any {
	n := object(v)
	if n == nil {
		return nil
	}
	if n["type"] != "CONJUNCTION_AND" {
		return []any{v}
	}
	var all []any
	for _, child := range list(n["children"]) {
		all = append(all, conjuncts(child)...)
	}
	return all
}

// and makes one condition of several; nil of none.
func and(all []any) any {
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return node{"class": "CONJUNCTION", "type": "CONJUNCTION_AND", "alias": "", "children": slices.Clone(all)}
}

func column(names ...string) node {
	all := make([]any, len(names))
	for i, name := range names {
		all[i] = name
	}
	return node{"class": "COLUMN_REF", "type": "COLUMN_REF", "alias": "", "column_names": all}
}

func equal(left, right any) node {
	return node{"class": "COMPARISON", "type": "COMPARE_EQUAL", "alias": "", "left": left, "right": right}
}

// columnNames returns the names of a column reference in lower case; nil for other nodes.
func columnNames(n node) []string {
	if n["class"] != "COLUMN_REF" {
		return nil
	}
	var names []string
	for _, name := range list(n["column_names"]) {
		names = append(names, strings.ToLower(text(name)))
	}
	return names
}
