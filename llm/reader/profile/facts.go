package profile

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/llm"
	"parley/llm/reader/catalog"
)

// Limits of the values that facts name.
const (
	// fewValues is the number up to which all values are named; of more, exampleValues are,
	// and one of values longer than shortValue characters.
	fewValues     = 12
	exampleValues = 3
	shortValue    = 60
)

// Facts describes the values of datasets, which it reads from data. Datasets that cannot be read
// before ctx ends have no facts.
func (c *Cache) Facts(ctx context.Context, data llm.Data, datasets []llm.Dataset) llm.Facts {
	facts := llm.Facts{Datasets: make([]llm.DatasetFacts, len(datasets))}
	var parts []*catalog.Part
	for i, d := range datasets {
		part, err := c.Part(ctx, data, d)
		if err != nil {
			continue // the others may be known
		}
		parts = append(parts, part)
		facts.Datasets[i] = llm.DatasetFacts{Seen: part.Seen(), Columns: map[string]llm.ColumnFacts{}}
		for j := range part.Columns() {
			column := &part.Columns()[j]
			// Of a column that could not be read neither values nor their number are known.
			if column.Filled > 0 || column.Complete {
				facts.Datasets[i].Columns[column.Name] = factsOf(column, part.Seen())
			}
		}
	}
	cat := catalog.Join(parts, nil)
	for _, l := range cat.Links {
		from, to := &cat.Columns[l.From], &cat.Columns[l.To]
		facts.Links = append(facts.Links, llm.Link{From: cat.Tables[from.Table].Name, Columns: []string{from.Name}, To: cat.Tables[to.Table].Name, ToColumns: []string{to.Name}})
	}
	return facts
}

// factsOf returns the facts of a column; seen is the number of rows that were read.
func factsOf(c *catalog.Column, seen int64) llm.ColumnFacts {
	f := llm.ColumnFacts{Missing: seen - c.Filled}
	if !c.Native {
		f.Kind = map[catalog.Kind]string{catalog.Number: "numbers", catalog.Date: "dates", catalog.Clock: "times"}[c.Kind]
	}
	if c.Kind == catalog.Number && !c.Native {
		f.Unit = unitOf(c.Values)
	}
	long := slices.ContainsFunc(c.Values, func(v string) bool { return utf8.RuneCountInString(v) > shortValue })
	switch {
	case len(c.Values) <= fewValues && !long:
		f.Values, f.All = slices.Clone(c.Values), c.Complete
		if c.Kind == catalog.Number {
			slices.SortStableFunc(f.Values, byNumber)
		}
	case c.Least != "":
		f.Least, f.Most = c.Least, c.Most
	case long:
		f.Values = c.Values[:1]
	default:
		for i := range min(exampleValues, len(c.Values)) {
			f.Values = append(f.Values, c.Values[i*len(c.Values)/exampleValues])
		}
	}
	return f
}

func byNumber(a, b string) int {
	x, _ := catalog.ParseNumber(a)
	y, _ := catalog.ParseNumber(b)
	return cmp.Compare(x, y)
}

// maxUnit limits a unit, in characters.
const maxUnit = 6

// unitOf returns the text that all numbers have before or after them, such as kg, % or €;
// "" if they differ, or if it is too long for a unit: cells are untrusted.
func unitOf(values []string) string {
	unit := ""
	for _, v := range values {
		if catalog.IsMissing(v) {
			continue
		}
		own := strings.TrimFunc(v, func(r rune) bool {
			return unicode.IsDigit(r) || unicode.IsSpace(r) || strings.ContainsRune(".,+-−–", r)
		})
		before, after, _ := strings.Cut(v, own)
		within := strings.ContainsFunc(before, unicode.IsDigit) && strings.ContainsFunc(after, unicode.IsDigit) // as in m2
		if own == "" || within || strings.ContainsFunc(own, unicode.IsDigit) || unit != "" && own != unit {
			return ""
		}
		unit = own
	}
	if utf8.RuneCountInString(unit) > maxUnit || strings.ContainsFunc(unit, unicode.IsSpace) {
		return ""
	}
	return unit
}
