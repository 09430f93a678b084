package ir

import (
	"fmt"
	"strings"
)

// repeated returns the table whose rows the joins repeat although the query aggregates
// them; -1 for none. If the query only counts rows, it counts their distinct keys instead.
func (p *printer) repeated(q *Query) int {
	tables, onlyCounts, others := p.bases(q)
	switch {
	case len(tables) == 0:
		return -1
	case len(tables) > 1, others && !onlyCounts:
		p.fail("figures of two tables that multiply each other")
		return -1
	case onlyCounts:
		p.counted = p.rowKey(tables[0])
		return -1
	}
	return tables[0]
}

// rowKey prints what tells the rows of a table apart: its key, or else their numbers.
func (p *printer) rowKey(table int) string {
	if key := p.cat.Tables[table].Key; key >= 0 {
		return p.ref(key)
	}
	p.numberRows(table)
	return p.rowNumber()
}

// distinctRows prints a subquery with the columns that the query needs, with each row of
// the base table once per group. A column keeps its name unless another has it.
func (p *printer) distinctRows(q *Query, base int, where string) string {
	const key = "row_key"
	names, taken := map[int]string{}, map[string]bool{key: true}
	columns := []string{p.rowKey(base) + " AS " + key}
	visitShown(q, func(column int) {
		if column < 0 || names[column] != "" {
			return
		}
		name := p.cat.Columns[column].Name
		for n := 2; taken[strings.ToLower(name)]; n++ {
			name = fmt.Sprintf("%s_%d", p.cat.Columns[column].Name, n)
		}
		taken[strings.ToLower(name)] = true
		names[column] = Ident(name)
		columns = append(columns, p.ref(column)+" AS "+names[column])
	})
	source := "(SELECT DISTINCT " + strings.Join(columns, ", ") + " FROM " + p.from() + where + ") AS distinct_rows"
	p.deduped = names
	return source
}
