package ingest

import (
	"fmt"
	"strings"

	"parley/storage"
)

// resolve gives a column's type. Only dates and times can be mistaken: other
// values of different types in one key are how JSON is, and become text.
func (f *jsonFile) resolve(c *jsonColumn) (string, error) {
	total := c.total()
	switch {
	case total == 0:
		return typeNull, nil
	case c.count[kindList] == total && c.elements.total() == 0:
		return typeEmptyList, nil
	case c.count[kindList] == total:
		if of, _ := c.elements.resolve(); of != nil && !of.temporal() {
			return of.typ + "[]", nil
		}
		return typeVarchar + "[]", nil
	case c.sum(kindList, kindNested) == total:
		return typeJSON, nil
	}
	of, wrong := c.tally.resolve()
	if wrong != nil && wrong.family.temporal() && c.count[kindText] > 0 {
		return "", refuse("%s, column %s: %s is not %s", f.at(wrong.row), quote(c.name), quote(wrong.value), wrong.family.what)
	}
	if of == nil {
		return typeVarchar, nil
	}
	return of.typ, nil
}

func (f *family) temporal() bool {
	return f.typ == typeDate || f.typ == typeTime || f.typ == typeTimestamp || f.typ == typeInstant
}

// readJSON gives the SQL that reads a JSON file with the types that are wanted.
func readJSON(path, form string, columns []storage.Column, want []string) (from string, exprs []string) {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = literal(c.Name) + ": " + literal(physical(want[i]))
		exprs = append(exprs, identifier(c.Name))
	}
	return fmt.Sprintf("read_json(%s, format = %s, records = true, maximum_object_size = %d, columns = {%s})",
		literal(path), literal(form), maxObject+1024, strings.Join(list, ", ")), exprs
}
