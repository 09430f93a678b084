package storage

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Merge gives the profile of the rows of both, which have these columns from now on. Counts
// of frequent values, and histograms of different ranges, become approximate.
func (p Profile) Merge(added Profile, columns []Column) Profile {
	merged := Profile{Rows: p.Rows + added.Rows, Columns: make([]ColumnProfile, len(columns))}
	for i, c := range columns {
		merged.Columns[i] = mergeColumn(c, p.column(c), added.column(c))
	}
	return merged
}

// profilePart is a column's profile in some rows.
type profilePart struct {
	ColumnProfile
	values int64
	// complete says that Top has all values.
	complete bool
}

// column gives the profile of a column, which may be missing from all rows or may have had
// another type.
func (p Profile) column(column Column) profilePart {
	at := slices.IndexFunc(p.Columns, func(c ColumnProfile) bool { return c.Name == column.Name })
	if at < 0 {
		return profilePart{ColumnProfile: ColumnProfile{Missing: p.Rows, Sketch: make(Sketch, SketchSize)}, complete: true}
	}
	c := p.Columns[at]
	part := profilePart{ColumnProfile: c, values: p.Rows - c.Missing, complete: int64(len(c.Top)) >= c.Distinct}
	if KindOf(c.Type) != KindOf(column.Type) && part.values > 0 {
		part.Min, part.Max, part.Histogram, part.Length = nil, nil, nil, nil
	}
	return part
}

// sketched reports whether the sketch has all values, or all but a few.
func (p profilePart) sketched() bool {
	return p.complete || slices.ContainsFunc(p.Sketch, func(rank byte) bool { return rank > 0 })
}

func mergeColumn(column Column, a, b profilePart) ColumnProfile {
	merged := ColumnProfile{Name: column.Name, Type: column.Type, Unit: cmp.Or(a.Unit, b.Unit), Missing: a.Missing + b.Missing, Sketch: a.Sketch.merge(b.Sketch)}
	if a.Unit != b.Unit && a.values > 0 && b.values > 0 {
		merged.Unit = ""
	}
	if a.values == 0 || b.values == 0 {
		one := a
		if a.values == 0 {
			one = b
		}
		merged.Distinct, merged.Min, merged.Max, merged.Top, merged.Histogram, merged.Length, merged.Sketch =
			one.Distinct, one.Min, one.Max, one.Top, one.Histogram, one.Length, one.Sketch
		return merged
	}
	kind := KindOf(column.Type)
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
		if a.apart(b.ColumnProfile) {
			merged.Distinct = a.Distinct + b.Distinct
		}
	}
	merged.Histogram = mergeHistograms(a.Histogram, b.Histogram)
	if a.Length != nil && b.Length != nil {
		merged.Length = &Lengths{
			Min: min(a.Length.Min, b.Length.Min), Max: max(a.Length.Max, b.Length.Max),
			Average: (a.Length.Average*float64(a.values) + b.Length.Average*float64(b.values)) / float64(a.values+b.values),
		}
	}
	return merged
}

// extreme gives the lesser value, where sign is -1, or the greater one.
func extreme(kind ValueKind, sign int, a, b *string) *string {
	if a == nil || b == nil {
		return nil
	}
	order := strings.Compare(*a, *b)
	if kind == KindNumber {
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

// Compare puts the more frequent value first, then the lesser one.
func (v ValueCount) Compare(kind ValueKind, other ValueCount) int {
	order := cmp.Compare(other.Count, v.Count)
	if order == 0 && kind == KindNumber {
		x, _ := strconv.ParseFloat(v.Value, 64)
		y, _ := strconv.ParseFloat(other.Value, 64)
		order = cmp.Compare(x, y)
	}
	return cmp.Or(order, strings.Compare(v.Value, other.Value))
}

// mergeTop sums up the counts of values, and gives how many different ones there are.
func mergeTop(kind ValueKind, a, b []ValueCount) ([]ValueCount, int) {
	at := make(map[string]int, len(a))
	key := func(text string) string {
		if number, err := strconv.ParseFloat(text, 64); err == nil && kind == KindNumber {
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
	slices.SortStableFunc(all, func(x, y ValueCount) int { return x.Compare(kind, y) })
	return all[:min(len(all), MaxTop)], len(all)
}

// mergeHistograms puts the values of both into bins from the least to the greatest, as if
// those of each bin were spread evenly.
func mergeHistograms(a, b *Histogram) *Histogram {
	if a == nil || b == nil {
		return nil
	}
	merged := Histogram{From: min(a.From, b.From), To: max(a.To, b.To), Counts: make([]int64, HistogramBins)}
	exact := make([]float64, HistogramBins)
	for _, h := range []*Histogram{a, b} {
		width := (h.To - h.From) / float64(len(h.Counts))
		for i, count := range h.Counts {
			merged.spread(exact, h.From+float64(i)*width, h.From+float64(i+1)*width, float64(count))
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
	return &merged
}

// spread adds a count that is spread from one value to another.
func (h Histogram) spread(counts []float64, from, to, count float64) {
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
