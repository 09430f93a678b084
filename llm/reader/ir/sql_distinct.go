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
	case p.cat.Tables[tables[0]].Key < 0:
		p.fail("no key that tells the rows of %s apart", p.cat.Tables[tables[0]].Name)
		return -1
	case onlyCounts:
		p.counted = p.cat.Tables[tables[0]].Key
		return -1
	}
	return tables[0]
}

// distinctRows prints a subquery with the columns that the query needs, with each row of
// the base table once per group.
func (p *printer) distinctRows(q *Query, base int, where string) string {
	names := map[int]string{}
	columns := []string{p.ref(p.cat.Tables[base].Key) + " AS row_key"}
	visitShown(q, func(column int) {
		if column < 0 || names[column] != "" {
			return
		}
		names[column] = Ident(fmt.Sprintf("%s_%d", strings.Join(p.cat.Columns[column].Words, "_"), len(names)+1))
		columns = append(columns, p.ref(column)+" AS "+names[column])
	})
	source := "(SELECT DISTINCT " + strings.Join(columns, ", ") + " FROM " + p.from() + where + ") AS distinct_rows"
	p.deduped = names
	return source
}
