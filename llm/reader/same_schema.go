package reader

import (
	"slices"
	"strings"

	"parley/llm"
	"parley/llm/reader/ir"
	"parley/llm/reader/link"
	"parley/llm/reader/rank"
)

// maxChoices limits the datasets that the asker can choose from.
const maxChoices = 6

// sameSchemaReadings returns the best reading and the same query of other datasets with the
// same schema, such as sales_north and sales_south, if the question does not say which one it
// is about; nil if it does, or if the question before may do so.
func (f *interpretation) sameSchemaReadings(question string) []llm.Reading {
	best := &f.readings[0]
	tables, _, err := ir.Tables(best.Query, f.source.Catalog)
	if err != nil || f.followUp {
		return nil
	}
	asked := stemsOf(question)
	for _, t := range tables {
		all := []llm.Reading{f.option(best)}
		for other := range f.source.Tables {
			if other != t && len(all) < maxChoices && !slices.Contains(tables, other) && f.haveSameSchema(t, other) && !f.distinguishes(asked, t, other) {
				if x, ok := f.replaceTable(best, t, other); ok {
					all = append(all, x)
				}
			}
		}
		if len(all) > 1 {
			return all
		}
	}
	return nil
}

// haveSameSchema reports whether two tables have the same columns, and names with the same
// word at the start or at the end.
func (f *interpretation) haveSameSchema(a, b int) bool {
	x, y := &f.source.Tables[a], &f.source.Tables[b]
	if len(x.Columns) != len(y.Columns) || len(x.Words)+len(y.Words) < 3 {
		return false
	}
	for _, c := range x.Columns {
		if f.sameColumn(c, b) < 0 {
			return false
		}
	}
	first, last := x.Stems(), y.Stems()
	return first[0] == last[0] || first[len(first)-1] == last[len(last)-1]
}

// sameColumn returns the column of a table with the name of a column; -1 for none.
func (f *interpretation) sameColumn(column, table int) int {
	at := slices.IndexFunc(f.source.Tables[table].Columns, func(c int) bool {
		return strings.EqualFold(f.source.Columns[c].Name, f.source.Columns[column].Name)
	})
	if at < 0 {
		return -1
	}
	return f.source.Tables[table].Columns[at]
}

// distinguishes reports whether the stems of a question name a table and not another one.
func (f *interpretation) distinguishes(asked []string, table, other int) bool {
	return slices.ContainsFunc(f.source.Tables[table].Stems(), func(stem string) bool {
		return slices.Contains(asked, stem) && !slices.Contains(f.source.Tables[other].Stems(), stem)
	})
}

// replaceTable returns a reading with another table in place of one; false if there is no
// such query.
func (f *interpretation) replaceTable(x *rank.Reading, from, to int) (llm.Reading, bool) {
	tokens := slices.Clone(x.Tokens)
	for i, t := range tokens {
		switch {
		case t.Class == ir.TableRef && t.N == from:
			tokens[i].N = to
		case t.Class == ir.ColumnRef && f.source.Columns[t.N].Table == from:
			tokens[i].N = f.sameColumn(t.N, to)
		}
	}
	q, err := ir.Parse(tokens, (&link.Input{Values: f.values}).IRValues())
	if err != nil {
		return llm.Reading{}, false
	}
	sql, measure, err := ir.WithMeasure(q, f.source.Catalog, f.source.now)
	return llm.Reading{SQL: sql, Measure: measure, Words: ir.Describe(q, f.source.Catalog, f.numbers)}, err == nil
}
