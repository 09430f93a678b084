package storage

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckLinks(t *testing.T) {
	t.Parallel()
	one := func(columns, to, toColumns string) Link {
		return Link{From: "orders", Columns: strings.Fields(columns), To: to, ToColumns: strings.Fields(toColumns)}
	}
	labelled := one("a", "customers", "id")
	labelled.Label = strings.Repeat("ä", maxLinkLabel)
	tooLong := one("b", "customers", "id")
	tooLong.Label = labelled.Label + "x"
	for name, test := range map[string]struct {
		links []Link
		want  []string
	}{
		"none":            {nil, nil},
		"right":           {[]Link{labelled, one("a b", "customers", "x y"), one("a", "orders", "id")}, nil},
		"no columns":      {[]Link{one("", "customers", "")}, []string{"links[0].columns", "links[0].toColumns"}},
		"other counts":    {[]Link{one("a b", "customers", "x")}, []string{"links[0].toColumns"}},
		"a column twice":  {[]Link{one("a A", "customers", "x y")}, []string{"links[0].columns"}},
		"too many":        {[]Link{one("a b c d e f g h i", "customers", "a b c d e f g h i")}, []string{"links[0].columns", "links[0].toColumns"}},
		"internal column": {[]Link{one("__a", "customers", "x")}, []string{"links[0].columns"}},
		"no dataset":      {[]Link{one("a", "", "x")}, []string{"links[0].dataset"}},
		"a long label":    {[]Link{tooLong}, []string{"links[0].label"}},
		"a link twice":    {[]Link{one("a", "customers", "id"), one("A", "Customers", "ID")}, []string{"links[1].columns"}},
		"too many links":  {make([]Link, MaxLinks+1), []string{"links"}},
	} {
		var fields []string
		for _, wrong := range CheckLinks(test.links) {
			fields = append(fields, wrong.Field)
		}
		if !slices.Equal(fields, test.want) {
			t.Errorf("%s: got %v, want %v", name, fields, test.want)
		}
	}
}

// Profiles must rule out a link only where it cannot be.
func TestMayReferTo(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	sketch := func(used int, rank byte) Sketch {
		s := make(Sketch, SketchSize)
		for i := range used {
			s[i] = rank
		}
		return s
	}
	key := ColumnProfile{Type: "BIGINT", Distinct: 1000, Min: text("1"), Max: text("1000"), Sketch: make(Sketch, SketchSize)}
	few := ColumnProfile{Type: "VARCHAR", Distinct: 3, Min: text("a"), Max: text("c"), Sketch: make(Sketch, SketchSize),
		Top: []ValueCount{{"a", 1}, {"b", 1}, {"c", 1}}}
	many := key
	many.Distinct, many.Sketch = 100_000, sketch(200, 5)
	change := func(c ColumnProfile, f func(*ColumnProfile)) ColumnProfile {
		f(&c)
		return c
	}
	for name, test := range map[string]struct {
		from, to ColumnProfile
		rows     int64
		want     bool
	}{
		"the same values":          {key, key, 1000, true},
		"a part of them":           {change(key, func(c *ColumnProfile) { c.Distinct, c.Min = 10, text("90") }), key, 1000, true},
		"orphans beyond the range": {change(key, func(c *ColumnProfile) { c.Max = text("99999") }), key, 1000, true},
		"an estimated number":      {key, change(key, func(c *ColumnProfile) { c.Distinct = 800 }), 1000, true},
		"other numbers":            {change(key, func(c *ColumnProfile) { c.Min, c.Max = text("1001"), text("2000") }), key, 1000, false},
		"no values":                {change(key, func(c *ColumnProfile) { c.Distinct = 0 }), key, 1000, false},
		"too many values":          {change(key, func(c *ColumnProfile) { c.Distinct = 5000 }), key, 1000, false},
		"repeated values":          {key, key, 2000, false},
		"rows without a value":     {key, change(key, func(c *ColumnProfile) { c.Missing = 1000 }), 2000, true},
		"a known repeated value":   {few, change(few, func(c *ColumnProfile) { c.Top = []ValueCount{{"a", 2}, {"b", 1}, {"c", 1}} }), 4, false},
		"few values":               {few, few, 3, true},
		"few other values":         {change(few, func(c *ColumnProfile) { c.Top = []ValueCount{{"a", 1}, {"aa", 9}, {"ab", 1}} }), few, 3, false},
		"frequent values":          {change(few, func(c *ColumnProfile) { c.Top = []ValueCount{{"aa", 9}, {"ab", 1}, {"ac", 1}} }), few, 3, false},
		"no sketch":                {many, change(many, func(c *ColumnProfile) { c.Sketch, c.Distinct = nil, 10 }), 100_000, true},
		"a sketch within another":  {change(many, func(c *ColumnProfile) { c.Sketch = sketch(100, 3) }), many, 100_000, true},
		"a sketch of others":       {change(many, func(c *ColumnProfile) { c.Sketch = sketch(200, 9) }), many, 100_000, false},
		"small sketches":           {change(many, func(c *ColumnProfile) { c.Sketch = sketch(10, 9) }), many, 100_000, true},
	} {
		if got := test.from.MayReferTo(test.to, test.rows); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Additions with numbers of their own have as many different ones as both together, though
// few of them were estimated by a sketch.
func TestMergeDistinctOfRanges(t *testing.T) {
	t.Parallel()
	text := func(s string) *string { return &s }
	part := func(least, most string, distinct int64, rank byte) Profile {
		sketch := make(Sketch, SketchSize)
		sketch[0] = rank
		return Profile{Rows: distinct, Columns: []ColumnProfile{{Name: "id", Type: "BIGINT", Distinct: distinct, Min: text(least), Max: text(most), Sketch: sketch}}}
	}
	columns := []Column{{Name: "id", Type: "BIGINT"}}
	merged := part("1", "40000", 40_000, 0).Merge(part("40001", "100000", 60_000, 7), columns).Columns[0]
	if merged.Distinct != 100_000 || merged.Sketch != nil {
		t.Errorf("got %+v", merged)
	}
	if again := part("50000", "60000", 10_000, 0).Merge(part("1", "100000", 60_000, 7), columns).Columns[0]; again.Distinct != 60_000 || again.Sketch != nil {
		t.Errorf("of one range: got %+v", again)
	}
}
