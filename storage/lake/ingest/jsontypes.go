package ingest

import (
	"fmt"
	"strings"

	"parley/internal/sqltext"
	"parley/storage"
)

// typ gives a column's type.
func (c *jsonColumn) typ() string {
	lists := setOf(kindList)
	switch {
	case c.seen == 0:
		return typeNull
	case c.seen == lists && c.elements == 0:
		return typeEmptyList
	case c.seen == lists:
		if of := familyOf(c.elements); of != nil && !of.temporal() {
			return of.typ + "[]"
		}
		return typeVarchar + "[]"
	case c.seen.within(setOf(kindList, kindNested)):
		return typeJSON
	}
	if of := familyOf(c.seen); of != nil {
		return of.typ
	}
	return typeVarchar
}

// readJSON gives the SQL that reads a JSON file with the types that are wanted.
func readJSON(path, form string, columns []storage.Column, want []string) (from string, exprs []string) {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = sqltext.Text(c.Name) + ": " + sqltext.Text(physical(want[i]))
		exprs = append(exprs, sqltext.Name(c.Name))
	}
	return fmt.Sprintf("read_json(%s, format = %s, records = true, maximum_object_size = %d, columns = {%s})",
		sqltext.Text(path), sqltext.Text(form), maxObject+1024, strings.Join(list, ", ")), exprs
}
