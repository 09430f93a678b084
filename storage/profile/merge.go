// Package profile computes with the profiles of datasets: it merges those of several additions,
// and compares columns. It reads no rows: package ingest makes the profiles.
package profile

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"parley/internal/domain"
)

// Merge returns the profile of the rows of both, which have these columns from now on. Counts
// of frequent values, and histograms of different ranges, become approximate.
func Merge(old, added domain.Profile, columns []domain.Column) domain.Profile {
	merged := domain.Profile{Rows: old.Rows + added.Rows, Columns: make([]domain.ColumnProfile, len(columns))}
	for i, c := range columns {
		merged.Columns[i] = mergeColumn(c, partOf(old, c), partOf(added, c))
	}
	return merged
}

// CheckUnits refuses to add numbers to a column whose numbers have another unit.
func CheckUnits(old, added domain.Profile) error {
	for _, c := range added.Columns {
		before := partOf(old, domain.Column{Name: c.Name, Type: c.Type})
		if c.Unit != "" && before.Unit != "" && c.Unit != before.Unit && before.values > 0 && c.Missing < added.Rows {
			return domain.Errorf(domain.ErrInvalid, "column %q is in %s in the dataset and in %s in what is added; put them into another dataset, or convert them",
				c.Name, before.Unit, c.Unit)
		}
	}
	return nil
}

// part is a column's profile in some rows.
type part struct {
	domain.ColumnProfile
	values int64
	// complete says that Top has all values.
	complete bool
}

// partOf returns the profile of a column, which may be missing from all rows or may have had
// another type.
func partOf(p domain.Profile, column domain.Column) part {
	at := slices.IndexFunc(p.Columns, func(c domain.ColumnProfile) bool { return c.Name == column.Name })
	if at < 0 {
		return part{ColumnProfile: domain.ColumnProfile{Missing: p.Rows, Sketch: make(domain.Sketch, domain.SketchSize)}, complete: true}
	}
	c := p.Columns[at]
	found := part{ColumnProfile: c, values: p.Rows - c.Missing, complete: int64(len(c.Top)) >= c.Distinct}
	if domain.KindOf(c.Type) != domain.KindOf(column.Type) && found.values > 0 {
		found.Min, found.Max, found.Histogram, found.Length = nil, nil, nil, nil
	}
	return found
}

// sketched reports whether the sketch has all values, or all but a few.
func (p part) sketched() bool {
	return p.complete || slices.ContainsFunc(p.Sketch, func(rank byte) bool { return rank > 0 })
}

func mergeColumn(column domain.Column, a, b part) domain.ColumnProfile {
	merged := domain.ColumnProfile{Name: column.Name, Type: column.Type, Unit: cmp.Or(a.Unit, b.Unit), Missing: a.Missing + b.Missing, Sketch: mergeSketches(a.Sketch, b.Sketch)}
	if a.values == 0 || b.values == 0 {
		one := a
		if a.values == 0 {
			one = b
		}
		merged.Distinct, merged.Min, merged.Max, merged.Top, merged.Histogram, merged.Length, merged.Sketch =
			one.Distinct, one.Min, one.Max, one.Top, one.Histogram, one.Length, one.Sketch
		return merged
	}
	kind := domain.KindOf(column.Type)
	merged.Min, merged.Max = extreme(kind, -1, a.Min, b.Min), extreme(kind, 1, a.Max, b.Max)
	var distinct int
	merged.Top, distinct = mergeTop(kind, a.Top, b.Top)
	merged.Distinct = max(a.Distinct, b.Distinct, min(merged.Sketch.Estimate(), a.Distinct+b.Distinct))
	switch {
	case a.complete && b.complete:
		merged.Distinct = int64(distinct)
	case len(a.Top) == 0 || len(b.Top) == 0:
		merged.Top = nil // the counts of one of them are not known
	}
	if !a.sketched() || !b.sketched() {
		merged.Sketch = nil
		if apart(a.ColumnProfile, b.ColumnProfile) {
			merged.Distinct = a.Distinct + b.Distinct
		}
	}
	merged.Histogram = mergeHistograms(column.Type, a.Histogram, b.Histogram)
	if a.Length != nil && b.Length != nil {
		merged.Length = &domain.Lengths{
			Min: min(a.Length.Min, b.Length.Min), Max: max(a.Length.Max, b.Length.Max),
			Average: (a.Length.Average*float64(a.values) + b.Length.Average*float64(b.values)) / float64(a.values+b.values),
		}
	}
	return merged
}

// extreme returns the lesser value, where sign is -1, or the greater one.
func extreme(kind domain.ValueKind, sign int, a, b *string) *string {
	if a == nil || b == nil {
		return nil
	}
	order := strings.Compare(*a, *b)
	if kind == domain.KindNumber {
		x, errX := strconv.ParseFloat(*a, 64)
		y, errY := strconv.ParseFloat(*b, 64)
		if errX != nil || errY != nil {
			return nil
		}
		order = cmp.Compare(x, y)
	}
	if order == sign {
		return a
	}
	return b
}

// mergeTop sums up the counts of values, and gives how many different ones there are.
func mergeTop(kind domain.ValueKind, a, b []domain.ValueCount) ([]domain.ValueCount, int) {
	at := make(map[string]int, len(a))
	key := func(text string) string {
		if number, err := strconv.ParseFloat(text, 64); err == nil && kind == domain.KindNumber {
			return strconv.FormatFloat(number, 'g', -1, 64) // 30 and 30.0 are one
		}
		return text
	}
	all := slices.Clone(a)
	for i, v := range all {
		at[key(v.Value)] = i
	}
	for _, v := range b {
		if i, known := at[key(v.Value)]; known {
			all[i].Count += v.Count
		} else {
			all = append(all, v)
		}
	}
	slices.SortStableFunc(all, func(x, y domain.ValueCount) int { return x.Compare(kind, y) })
	return all[:min(len(all), domain.MaxTop)], len(all)
}

// mergeHistograms puts the values of both into bins from the least to the greatest, as if
// those of each bin were spread evenly.
func mergeHistograms(typ string, a, b *domain.Histogram) *domain.Histogram {
	if a == nil || b == nil {
		return nil
	}
	merged := domain.NewHistogram(typ, min(a.From, b.From), max(a.To, b.To)-domain.BinStep(typ))
	exact := make([]float64, len(merged.Counts))
	for _, h := range []*domain.Histogram{a, b} {
		for i, count := range h.Counts {
			from, to := h.Bin(i)
			spread(*merged, exact, from, to, float64(count))
		}
	}
	// Rounding the running total keeps the sum.
	var total float64
	var counted int64
	for i, count := range exact {
		total += count
		merged.Counts[i] = int64(math.Round(total)) - counted
		counted += merged.Counts[i]
	}
	return merged
}

// spread adds a count that is spread from one value to another.
func spread(h domain.Histogram, counts []float64, from, to, count float64) {
	width := (h.To - h.From) / float64(len(counts))
	bin := func(value float64) int {
		if width <= 0 {
			return 0
		}
		return min(max(int((value-h.From)/width), 0), len(counts)-1)
	}
	first, last := bin(from), bin(to)
	if first == last || to <= from {
		counts[first] += count
		return
	}
	for i := first; i <= last; i++ {
		low, high := max(from, h.From+float64(i)*width), min(to, h.From+float64(i+1)*width)
		counts[i] += count * max(high-low, 0) / (to - from)
	}
}

// mergeSketches returns the sketch of the values of both.
func mergeSketches(s, other domain.Sketch) domain.Sketch {
	if len(s) != domain.SketchSize || len(other) != domain.SketchSize {
		return nil
	}
	both := make(domain.Sketch, domain.SketchSize)
	for i := range both {
		both[i] = max(s[i], other[i])
	}
	return both
}
