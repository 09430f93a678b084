package storage_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"parley/storage"
)

func text(s string) *string { return &s }

func TestProfilesMerge(t *testing.T) {
	t.Parallel()
	first := storage.Profile{Rows: 4, Columns: []storage.ColumnProfile{
		{Name: "n", Type: "BIGINT", Unit: "€", Missing: 1, Distinct: 2, Min: text("9"), Max: text("30"),
			Top: []storage.ValueCount{{Value: "30", Count: 2}, {Value: "9", Count: 1}}, Histogram: &storage.Histogram{From: 9, To: 30, Counts: []int64{1, 2}}},
		{Name: "t", Type: "VARCHAR", Distinct: 1, Min: text("a"), Max: text("a"), Top: []storage.ValueCount{{Value: "a", Count: 4}}, Length: &storage.Lengths{Min: 1, Max: 1, Average: 1}},
		{Name: "was", Type: "BIGINT", Distinct: 1, Min: text("1"), Max: text("1"), Top: []storage.ValueCount{{Value: "1", Count: 4}}, Histogram: &storage.Histogram{From: 1, To: 1, Counts: []int64{4}}},
	}}
	second := storage.Profile{Rows: 2, Columns: []storage.ColumnProfile{
		{Name: "n", Type: "DOUBLE", Unit: "€", Distinct: 2, Min: text("10.5"), Max: text("30.0"),
			Top: []storage.ValueCount{{Value: "10.5", Count: 1}, {Value: "30.0", Count: 1}}, Histogram: &storage.Histogram{From: 10.5, To: 30, Counts: []int64{1, 1}}},
		{Name: "was", Type: "VARCHAR", Distinct: 1, Min: text("x"), Max: text("x"), Top: []storage.ValueCount{{Value: "x", Count: 2}}, Length: &storage.Lengths{Min: 1, Max: 1, Average: 1}},
		{Name: "new", Type: "BOOLEAN", Missing: 1, Distinct: 1, Min: text("true"), Max: text("true"), Top: []storage.ValueCount{{Value: "true", Count: 1}}},
	}}
	merged := first.Merge(second, []storage.Column{{Name: "n", Type: "DOUBLE"}, {Name: "t", Type: "VARCHAR"}, {Name: "was", Type: "VARCHAR"}, {Name: "new", Type: "BOOLEAN"}})
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

// TestSketch compares estimates with the number of random hashes that a sketch is made of.
func TestSketch(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, distinct := range []int{20_000, 500_000} {
		sketch := make(storage.Sketch, storage.SketchSize)
		for range distinct / storage.SketchSample {
			hash := random.Uint64()
			rank := 1
			for rest := hash >> 8; rest&1 == 0 && rank < storage.MaxRank; rest >>= 1 {
				rank++
			}
			sketch[hash&255] = max(sketch[hash&255], byte(rank))
		}
		if got := sketch.Estimate(); math.Abs(float64(got)/float64(distinct)-1) > 0.2 {
			t.Errorf("%d estimated at %d", distinct, got)
		}
	}
}

func TestProfilesFit(t *testing.T) {
	t.Parallel()
	var profile storage.Profile
	for i := range storage.MaxColumns {
		c := storage.ColumnProfile{Name: strconv.Itoa(i), Type: "BIGINT", Sketch: make(storage.Sketch, storage.SketchSize)}
		for v := range storage.MaxTop {
			c.Top = append(c.Top, storage.ValueCount{Value: strconv.Itoa(v), Count: 1})
		}
		profile.Columns = append(profile.Columns, c)
	}
	fit := profile.Fit()
	text, err := json.Marshal(fit)
	if err != nil || len(text) > 1<<20 || len(fit.Columns) != storage.MaxColumns || len(profile.Columns[0].Top) != storage.MaxTop {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	small := storage.Profile{Columns: profile.Columns[:3]}
	if !slices.EqualFunc(small.Fit().Columns, small.Columns, func(a, b storage.ColumnProfile) bool { return len(a.Top) == len(b.Top) }) {
		t.Error("a small one changed")
	}
}
