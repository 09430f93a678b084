package reader

import (
	"context"
	"strings"

	"parley/llm"
	"parley/llm/reader/ir"
)

// tiesNote says in the reasoning that a result has more rows than the limit of the question.
const tiesNote = " Rows that tie are all shown."

// withTies adds the rows that tie with the last one to a query for the first rows, if there
// are any. Equal rows are shown once if one was asked for.
func (f *interpretation) withTies(ctx context.Context, q llm.Query) (llm.Query, error) {
	best := &f.readings[0]
	tied := ir.TiedSQL(best.Query, f.source.Catalog, f.source.now)
	if tied == "" || len(q.Readings) > 0 {
		return q, nil
	}
	result, ok, err := f.source.trials.run(ctx, tied)
	if err == nil && ok && result.Repeated {
		tied = distinctRows(tied)
		result, ok, err = f.source.trials.run(ctx, tied)
	}
	if err == nil && ok && result.Rows > best.Query.Limit {
		q.SQL = tied
		q.Reasoning = strings.Replace(q.Reasoning, f.describe(best)+".", f.describe(best)+"."+tiesNote, 1)
	}
	return q, err
}

func distinctRows(sql string) string {
	return "SELECT DISTINCT * FROM (" + sql + ") AS tied ORDER BY ALL"
}

// addColumns shows keys in the readings, where names repeat, and the measure by which the first
// rows are selected.
func (f *interpretation) addColumns() {
	for i := range f.readings {
		x := &f.readings[i]
		with := ir.WithKeys(x.Query, f.source.Catalog)
		if sql, measure, err := ir.WithMeasure(with, f.source.Catalog, f.source.now); err == nil {
			x.Query, x.SQL, x.Measure = with, sql, measure
		}
	}
}

// prints reports whether SQL is that of a query as it is shown, or with rows that tie.
func (s *source) prints(q *ir.Query, sql string) bool {
	q = ir.WithKeys(q, s.Catalog)
	plain, _, err := ir.WithMeasure(q, s.Catalog, s.now)
	tied := ir.TiedSQL(q, s.Catalog, s.now)
	return err == nil && (sql == plain || sql == tied || sql == distinctRows(tied))
}
