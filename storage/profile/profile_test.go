package profile_test

import (
	"encoding/json"
	"errors"
	"testing"

	"parley/internal/domain"
	"parley/storage/profile"
)

func text(s string) *string { return &s }

func TestProfilesMerge(t *testing.T) {
	t.Parallel()
	first := domain.Profile{Rows: 4, Columns: []domain.ColumnProfile{
		{Name: "n", Type: "BIGINT", Unit: "€", Missing: 1, Distinct: 2, Min: text("9"), Max: text("30"),
			Top: []domain.ValueCount{{Value: "30", Count: 2}, {Value: "9", Count: 1}}, Histogram: &domain.Histogram{From: 9, To: 30, Counts: []int64{1, 2}}},
		{Name: "t", Type: "VARCHAR", Distinct: 1, Min: text("a"), Max: text("a"), Top: []domain.ValueCount{{Value: "a", Count: 4}}, Length: &domain.Lengths{Min: 1, Max: 1, Average: 1}},
		{Name: "was", Type: "BIGINT", Distinct: 1, Min: text("1"), Max: text("1"), Top: []domain.ValueCount{{Value: "1", Count: 4}}, Histogram: &domain.Histogram{From: 1, To: 1, Counts: []int64{4}}},
	}}
	second := domain.Profile{Rows: 2, Columns: []domain.ColumnProfile{
		{Name: "n", Type: "DOUBLE", Unit: "€", Distinct: 2, Min: text("10.5"), Max: text("30.0"),
			Top: []domain.ValueCount{{Value: "10.5", Count: 1}, {Value: "30.0", Count: 1}}, Histogram: &domain.Histogram{From: 10.5, To: 30, Counts: []int64{1, 1}}},
		{Name: "was", Type: "VARCHAR", Distinct: 1, Min: text("x"), Max: text("x"), Top: []domain.ValueCount{{Value: "x", Count: 2}}, Length: &domain.Lengths{Min: 1, Max: 1, Average: 1}},
		{Name: "new", Type: "BOOLEAN", Missing: 1, Distinct: 1, Min: text("true"), Max: text("true"), Top: []domain.ValueCount{{Value: "true", Count: 1}}},
	}}
	merged := profile.Merge(first, second, []domain.Column{{Name: "n", Type: "DOUBLE"}, {Name: "t", Type: "VARCHAR"}, {Name: "was", Type: "VARCHAR"}, {Name: "new", Type: "BOOLEAN"}})
	n := merged.Columns[0]
	var total int64
	for _, count := range n.Histogram.Counts {
		total += count
	}
	if total != 5 || n.Histogram.From != 9 || n.Histogram.To != 30 {
		t.Errorf("histogram %+v", n.Histogram)
	}
	merged.Columns[0].Histogram = nil
	for i := range merged.Columns {
		merged.Columns[i].Sketch = nil
	}
	got, err := json.Marshal(merged)
	want := `{"rows":6,"columns":[` +
		`{"name":"n","type":"DOUBLE","unit":"€","missing":1,"distinct":3,"min":"9","max":"30.0","top":[{"value":"30","count":3},{"value":"9","count":1},{"value":"10.5","count":1}]},` +
		`{"name":"t","type":"VARCHAR","missing":2,"distinct":1,"min":"a","max":"a","top":[{"value":"a","count":4}],"length":{"min":1,"max":1,"average":1}},` +
		`{"name":"was","type":"VARCHAR","missing":0,"distinct":2,"top":[{"value":"1","count":4},{"value":"x","count":2}]},` +
		`{"name":"new","type":"BOOLEAN","missing":5,"distinct":1,"min":"true","max":"true","top":[{"value":"true","count":1}]}]}`
	if err != nil || string(got) != want {
		t.Errorf("merged to\n%s, want\n%s", got, want)
	}
}

// TestCheckUnits refuses numbers of another unit. One without a unit, and no values, go with any.
func TestCheckUnits(t *testing.T) {
	t.Parallel()
	of := func(unit string, missing int64) domain.Profile {
		return domain.Profile{Rows: 2, Columns: []domain.ColumnProfile{{Name: "price", Type: "BIGINT", Unit: unit, Missing: missing}}}
	}
	for _, test := range []struct {
		old, added domain.Profile
		refused    bool
	}{
		{of("$", 0), of("€", 1), true},
		{of("$", 0), of("$", 0), false},
		{of("$", 0), of("", 0), false},
		{of("", 0), of("%", 0), false},
		{of("$", 2), of("€", 0), false},
		{of("$", 0), of("€", 2), false},
		{domain.Profile{Rows: 1}, of("€", 0), false},
	} {
		if err := profile.CheckUnits(test.old, test.added); errors.Is(err, domain.ErrInvalid) != test.refused {
			t.Errorf("%+v and %+v: %v", test.old, test.added, err)
		}
	}
}

// Profiles must rule out a link only where it cannot be.
func TestMayReferTo(t *testing.T) {
	t.Parallel()
	sketch := func(used int, rank byte) domain.Sketch {
		s := make(domain.Sketch, domain.SketchSize)
		for i := range used {
			s[i] = rank
		}
		return s
	}
	key := domain.ColumnProfile{Type: "BIGINT", Distinct: 1000, Min: text("1"), Max: text("1000"), Sketch: make(domain.Sketch, domain.SketchSize)}
	few := domain.ColumnProfile{Type: "VARCHAR", Distinct: 3, Min: text("a"), Max: text("c"), Sketch: make(domain.Sketch, domain.SketchSize),
		Top: []domain.ValueCount{{Value: "a", Count: 1}, {Value: "b", Count: 1}, {Value: "c", Count: 1}}}
	many := key
	many.Distinct, many.Sketch = 100_000, sketch(200, 5)
	change := func(c domain.ColumnProfile, f func(*domain.ColumnProfile)) domain.ColumnProfile {
		f(&c)
		return c
	}
	for name, test := range map[string]struct {
		from, to domain.ColumnProfile
		rows     int64
		want     bool
	}{
		"the same values":          {key, key, 1000, true},
		"a part of them":           {change(key, func(c *domain.ColumnProfile) { c.Distinct, c.Min = 10, text("90") }), key, 1000, true},
		"orphans beyond the range": {change(key, func(c *domain.ColumnProfile) { c.Max = text("99999") }), key, 1000, true},
		"an estimated number":      {key, change(key, func(c *domain.ColumnProfile) { c.Distinct = 800 }), 1000, true},
		"other numbers":            {change(key, func(c *domain.ColumnProfile) { c.Min, c.Max = text("1001"), text("2000") }), key, 1000, false},
		"no values":                {change(key, func(c *domain.ColumnProfile) { c.Distinct = 0 }), key, 1000, false},
		"too many values":          {change(key, func(c *domain.ColumnProfile) { c.Distinct = 5000 }), key, 1000, false},
		"repeated values":          {key, key, 2000, false},
		"rows without a value":     {key, change(key, func(c *domain.ColumnProfile) { c.Missing = 1000 }), 2000, true},
		"a known repeated value": {few, change(few, func(c *domain.ColumnProfile) {
			c.Top = []domain.ValueCount{{Value: "a", Count: 2}, {Value: "b", Count: 1}, {Value: "c", Count: 1}}
		}), 4, false},
		"few values": {few, few, 3, true},
		"few other values": {change(few, func(c *domain.ColumnProfile) {
			c.Top = []domain.ValueCount{{Value: "a", Count: 1}, {Value: "aa", Count: 9}, {Value: "ab", Count: 1}}
		}), few, 3, false},
		"frequent values": {change(few, func(c *domain.ColumnProfile) {
			c.Top = []domain.ValueCount{{Value: "aa", Count: 9}, {Value: "ab", Count: 1}, {Value: "ac", Count: 1}}
		}), few, 3, false},
		"no sketch":               {many, change(many, func(c *domain.ColumnProfile) { c.Sketch, c.Distinct = nil, 10 }), 100_000, true},
		"a sketch within another": {change(many, func(c *domain.ColumnProfile) { c.Sketch = sketch(100, 3) }), many, 100_000, true},
		"a sketch of others":      {change(many, func(c *domain.ColumnProfile) { c.Sketch = sketch(200, 9) }), many, 100_000, false},
		"small sketches":          {change(many, func(c *domain.ColumnProfile) { c.Sketch = sketch(10, 9) }), many, 100_000, true},
	} {
		if got := profile.MayReferTo(test.from, test.to, test.rows); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// Additions with numbers of their own have as many different ones as both together, though
// few of them were estimated by a sketch.
func TestMergeDistinctOfRanges(t *testing.T) {
	t.Parallel()
	part := func(least, most string, distinct int64, rank byte) domain.Profile {
		sketch := make(domain.Sketch, domain.SketchSize)
		sketch[0] = rank
		return domain.Profile{Rows: distinct, Columns: []domain.ColumnProfile{{Name: "id", Type: "BIGINT", Distinct: distinct, Min: text(least), Max: text(most), Sketch: sketch}}}
	}
	columns := []domain.Column{{Name: "id", Type: "BIGINT"}}
	merged := profile.Merge(part("1", "40000", 40_000, 0), part("40001", "100000", 60_000, 7), columns).Columns[0]
	if merged.Distinct != 100_000 || merged.Sketch != nil {
		t.Errorf("got %+v", merged)
	}
	if again := profile.Merge(part("50000", "60000", 10_000, 0), part("1", "100000", 60_000, 7), columns).Columns[0]; again.Distinct != 60_000 || again.Sketch != nil {
		t.Errorf("of one range: got %+v", again)
	}
}

// Bins of whole numbers and days have whole ones alone, also those of several additions.
func TestMergeHistograms(t *testing.T) {
	t.Parallel()
	const day = 24 * 60 * 60
	for _, test := range []struct {
		typ       string
		old, more domain.Histogram
		want      string
	}{
		{"BIGINT", domain.Histogram{From: 1, To: 4, Counts: []int64{2, 0, 1}}, domain.Histogram{From: 3, To: 6, Counts: []int64{4, 0, 5}}, `{"from":1,"to":6,"counts":[2,0,5,0,5]}`},
		{"DECIMAL(9,0)", domain.Histogram{From: 0, To: 20, Counts: make([]int64, 20)}, domain.Histogram{From: 20, To: 21, Counts: []int64{3}}, `{"from":0,"to":22,"counts":[0,0,0,0,0,0,0,0,0,0,3]}`},
		{"DATE", domain.Histogram{From: 0, To: day, Counts: []int64{2}}, domain.Histogram{From: day, To: 2 * day, Counts: []int64{3}}, `{"from":0,"to":172800,"counts":[2,3]}`},
		{"DOUBLE", domain.Histogram{From: 1.5, To: 1.5, Counts: []int64{2}}, domain.Histogram{From: 1.5, To: 1.5, Counts: []int64{3}}, `{"from":1.5,"to":1.5,"counts":[5]}`},
	} {
		of := func(h domain.Histogram) domain.Profile {
			return domain.Profile{Rows: 5, Columns: []domain.ColumnProfile{{Name: "a", Type: test.typ, Distinct: 1, Histogram: &h}}}
		}
		merged := profile.Merge(of(test.old), of(test.more), []domain.Column{{Name: "a", Type: test.typ}})
		got, err := json.Marshal(merged.Columns[0].Histogram)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: got %s, want %s, %v", test.typ, got, test.want, err)
		}
	}
}

// A whole number that has no greater one as a double has a bin too.
func TestMergeHistogramsOfLargeNumbers(t *testing.T) {
	t.Parallel()
	column := domain.ColumnProfile{Name: "a", Type: "BIGINT", Distinct: 1, Top: []domain.ValueCount{{Value: "9007199254740992", Count: 2}}}
	column.Histogram = domain.NewHistogram("BIGINT", 1<<53, 1<<53)
	column.Histogram.Counts[0] = 2
	one := domain.Profile{Rows: 2, Columns: []domain.ColumnProfile{column}}
	merged := profile.Merge(one, one, []domain.Column{{Name: "a", Type: "BIGINT"}})
	if got := merged.Columns[0].Histogram; len(got.Counts) != 1 || got.Counts[0] != 4 {
		t.Errorf("%+v", got)
	}
}
