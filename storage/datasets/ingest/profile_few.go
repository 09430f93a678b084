package ingest

import (
	"database/sql"
	"fmt"
	"math/bits"
	"slices"
	"sort"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
)

// fewRows is how many rows are counted value by value, which is faster than to ask for each
// column.
const fewRows = 1000

// count counts the values of all columns in one query, in which each row gives a value of each
// column. It fills the bins, too. Long texts have queries of their own: the list of values of a
// row would hold them all in memory.
func (p *profiler) count(columns []domain.ColumnProfile) error {
	var values, selects []string
	for i, c := range columns {
		if c.Missing == p.profile.Rows {
			continue
		}
		x := sqltext.Name(c.Name)
		if hasLongTexts(c) {
			selects = append(selects, fmt.Sprintf("SELECT %d, %s, %s, NULL::DOUBLE, count(*)%s WHERE %s IS NOT NULL GROUP BY ALL", i, hash(c), shortText(x), p.from, x))
			continue
		}
		values = append(values, fmt.Sprintf("{'at': %d, 'h': CASE WHEN %s IS NOT NULL THEN %s END, 'x': %s, 'n': %s}", i, x, hash(c), shortText(x), number(c, x)))
	}
	if len(values) > 0 {
		selects = append(selects, fmt.Sprintf("SELECT v.at, v.h, v.x, v.n, count(*) FROM (SELECT unnest([%s]) AS v%s) WHERE v.h IS NOT NULL GROUP BY ALL", strings.Join(values, ", "), p.from))
	}
	for i := range columns {
		columns[i].Distinct = 0
	}
	err := p.each(selects, func(rows *sql.Rows) error {
		var at int
		var h uint64
		var value domain.ValueCount
		var n sql.NullFloat64
		if err := rows.Scan(&at, &h, &value.Value, &n, &value.Count); err != nil {
			return err
		}
		c := &columns[at]
		c.Distinct++
		if c.Histogram != nil && n.Valid {
			addToBin(c, n.Float64, value.Count)
		}
		if h%domain.SketchSample == 0 {
			group, rank := h>>5%domain.SketchSize, byte(bits.TrailingZeros64(h>>13|1<<31)+1)
			c.Sketch[group] = max(c.Sketch[group], rank)
		}
		if domain.KindOf(c.Type) != domain.KindOther {
			c.Top = append(c.Top, value)
		}
		return nil
	})
	for i := range columns {
		c := &columns[i]
		if c.Type == typeVarchar {
			folded := map[string]bool{}
			for _, value := range c.Top {
				folded[strings.ToLower(strings.Trim(value.Value, " "))] = true
			}
			c.Alike = int64(len(c.Top) - len(folded))
		}
		slices.SortFunc(c.Top, func(a, b domain.ValueCount) int { return a.Compare(domain.KindOf(c.Type), b) })
		c.Top = slices.Clip(c.Top[:min(len(c.Top), domain.MaxTop)])
	}
	return err
}

// addToBin counts a value in the first bin whose greatest value is not below it.
func addToBin(c *domain.ColumnProfile, value float64, count int64) {
	counts := c.Histogram.Counts
	counts[sort.Search(len(counts)-1, func(bin int) bool { return value <= lastOf(c.Type, c.Histogram, bin) })] += count
}
