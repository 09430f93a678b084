package domain_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"parley/internal/domain"
)

// TestSketch compares estimates with the number of random hashes that a sketch is made of.
func TestSketch(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, distinct := range []int{20_000, 500_000} {
		sketch := make(domain.Sketch, domain.SketchSize)
		for range distinct / domain.SketchSample {
			hash := random.Uint64()
			rank := 1
			for rest := hash >> 8; rest&1 == 0 && rank < domain.MaxRank; rest >>= 1 {
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
	var profile domain.Profile
	for i := range domain.MaxColumns {
		c := domain.ColumnProfile{Name: strconv.Itoa(i), Type: "BIGINT", Sketch: make(domain.Sketch, domain.SketchSize)}
		for v := range domain.MaxTop {
			c.Top = append(c.Top, domain.ValueCount{Value: strconv.Itoa(v), Count: 1})
		}
		profile.Columns = append(profile.Columns, c)
	}
	fit := profile.Fit()
	text, err := json.Marshal(fit)
	if err != nil || len(text) > 1<<20 || len(fit.Columns) != domain.MaxColumns || len(profile.Columns[0].Top) != domain.MaxTop {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	small := domain.Profile{Columns: profile.Columns[:3]}
	if !slices.EqualFunc(small.Fit().Columns, small.Columns, func(a, b domain.ColumnProfile) bool { return len(a.Top) == len(b.Top) }) {
		t.Error("a small one changed")
	}
}
