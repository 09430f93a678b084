package chart

import (
	"regexp"
	"slices"
	"strings"
)

// kind is the kind of a chart.
type kind int

const (
	// bars lie, one for each category.
	bars kind = iota
	// columns stand, one for each period.
	columns
	lines
	points
	histogram
	// pie has the shares of a whole.
	pie
)

// shape is a chart of a table.
type shape struct {
	*table
	kind kind
	// main is the category or period, nil for points of two measures and histograms; series
	// is what is told apart by color, or nil. measures are the choices.
	main, series *column
	measures     []*column
	// against is the measure on the other axis of points.
	against *column
	// single says that main is not repeated: series only colors it.
	single bool
}

var (
	asksRelation     = regexp.MustCompile(`(?i)\b(vs\.?|versus|against|correlat\w*|relat\w*|scatter\w*)\b`)
	asksDistribution = regexp.MustCompile(`(?i)\b(distribut\w*|histogram|spread)\b`)
)

// Least numbers of rows that make a cloud of points or a histogram.
const (
	minPoints    = 5
	minHistogram = 20
)

// choose returns the chart that shows a table best; nil for none.
func (t *table) choose() *shape {
	measures := t.byMention(t.of(measure))
	periods, categories := t.of(period), t.of(category)
	if ids := t.of(identifier); len(periods)+len(categories) == 0 && len(ids) == 1 && len(t.Rows) <= maxCategories {
		categories = ids
	}
	if len(measures) > 1 && len(periods)+len(categories) == 0 {
		if key := t.numericKey(); key != nil {
			periods = []*column{key}
			measures = slices.DeleteFunc(measures, func(c *column) bool { return c == key })
		}
	}
	if len(measures) == 0 || len(t.of(identifier)) > 0 && len(periods)+len(categories) == 0 {
		return nil
	}
	if len(measures) > 1 && asksRelation.MatchString(t.Question) && len(t.Rows) >= minPoints {
		return t.cloud(measures, categories)
	}
	var s *shape
	switch {
	case len(periods) > 1 || len(periods)+len(categories) > 2:
	case len(periods) == 1:
		s = t.overPeriods(periods[0], categories, measures)
	case len(categories) == 2:
		s = t.twoCategories(categories, measures)
	case len(categories) == 1 && unique(categories[0]):
		s = &shape{kind: bars, main: categories[0], single: true, measures: measures}
	case len(measures) > 1 && len(t.Rows) >= minPoints:
		return t.cloud(measures, categories)
	case len(categories) == 0 && (len(t.Rows) >= minHistogram || len(t.Rows) >= minPoints && asksDistribution.MatchString(t.Question)):
		s = &shape{kind: histogram, measures: measures[:1]}
	}
	return t.complete(s)
}

// complete leaves out measures that the chart does not show; nil if it shows none.
func (t *table) complete(s *shape) *shape {
	if s == nil {
		return nil
	}
	// Bars of a part of the rows would not show what is greatest.
	if t.Truncated && (s.kind == bars || s.kind == columns) {
		return nil
	}
	flat := func(c *column) bool {
		return c.nulls > len(c.values)-2 || s.kind != lines && s.kind != columns && c.least == c.most || s.kind == histogram && countDistinct(c.values) < 8
	}
	s.measures = slices.DeleteFunc(slices.Clone(s.measures), flat)
	if len(s.measures) == 0 {
		return nil
	}
	s.table, s.measures = t, s.measures[:min(len(s.measures), maxMeasures)]
	if s.kind == bars && s.single && s.series == nil && s.main.distinct == len(t.Rows) && len(t.Rows) <= maxParts && s.measures[0].isWhole() {
		s.kind, s.measures = pie, s.measures[:1]
	}
	return s
}

// byMention orders measures as the question mentions them, after the one that the rows were selected
// by.
func (t *table) byMention(measures []*column) []*column {
	question := strings.ToLower(t.Question)
	at := func(c *column) int {
		if c.Name == t.Measure {
			return -1
		}
		for _, word := range slices.Backward(c.words) {
			if i := strings.Index(question, word); i >= 0 && len(word) > 2 && !aggregates[word] {
				return i
			}
		}
		return len(question)
	}
	slices.SortStableFunc(measures, func(a, b *column) int { return at(a) - at(b) })
	return measures
}

// numericKey returns the first column if it is a number that the others were computed for,
// such as a rating with its count; nil otherwise.
func (t *table) numericKey() *column {
	first := t.columns[0]
	if first.role != measure || !first.whole || anyIn(first.words, aggregates) || !unique(first) {
		return nil
	}
	for _, c := range t.columns[1:] {
		if c.role == measure && !anyIn(c.words, aggregates) {
			return nil
		}
	}
	first.role, first.distinct, first.sort, first.binned = period, len(first.values)-first.nulls, "ascending", len(first.values) <= maxGrouped
	return first
}

// cloud returns the points of two measures.
func (t *table) cloud(measures, categories []*column) *shape {
	s := &shape{kind: points, measures: measures[:1], against: measures[1]}
	for _, c := range categories {
		if c.distinct <= maxSeries {
			s.series = c
			break
		}
	}
	if s.against.least == s.against.most {
		return nil
	}
	return t.complete(s)
}

// overPeriods returns columns, lines or points over periods.
func (t *table) overPeriods(over *column, categories, measures []*column) *shape {
	s := &shape{kind: lines, main: over, measures: measures}
	if over.distinct <= maxPeriods || over.binned {
		s.kind = columns
	}
	if len(categories) == 0 {
		if s.single = unique(over); s.single {
			return s
		}
		if s.kind = points; over.grain != "" && over.distinct > maxPeriods {
			return s
		}
		return nil
	}
	s.series = categories[0]
	switch {
	// One row for each category: the period is a detail of it.
	case unique(s.series) && len(t.Rows) > 2:
		return &shape{kind: bars, main: s.series, single: true, measures: measures}
	case !unique(over, s.series):
		return nil
	}
	if s.kind == columns && over.distinct*min(s.series.distinct, maxSeries) > maxGrouped {
		s.kind = lines
	}
	return t.limitSeries(s)
}

// twoCategories returns bars with a series.
func (t *table) twoCategories(categories, measures []*column) *shape {
	a, b := categories[0], categories[1]
	switch {
	case unique(a) && b.distinct <= maxSeries:
		return &shape{kind: bars, main: a, series: b, single: true, measures: measures}
	case unique(a):
		return &shape{kind: bars, main: a, single: true, measures: measures}
	case !unique(a, b):
		return nil
	case b.distinct > maxSeries && a.distinct <= maxSeries:
		a, b = b, a
	}
	return t.limitSeries(&shape{kind: bars, main: a, series: b, measures: measures})
}

// limitSeries leaves out measures that have no sum where some series have to be summed.
func (t *table) limitSeries(s *shape) *shape {
	if s.series.distinct > maxSeries {
		s.measures = slices.DeleteFunc(slices.Clone(s.measures), func(c *column) bool { return !c.summable() })
	}
	return s
}
