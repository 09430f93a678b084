package catalog

import (
	"math/rand/v2"
	"strconv"
	"testing"
)

func TestParseNumber(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]float64{
		"7": 7, "-7": -7, "0.5": 0.5, "-12.25": -12.25, "007": 7, "1,234": 1234, "1,234.5 km": 1234.5, "−3": -3, "–3": -3, "$4.20": 4.2, "12%": 12,
		"7.": 7, ".5": 5, "1.2.3": 1.2, "--5": -5, "5-6": 5, "a 10 b 20": 10, "1e3": 1,
	} {
		if got, ok := ParseNumber(cell); !ok || got != want {
			t.Errorf("%q is %v, %v, want %v", cell, got, ok, want)
		}
	}
	for _, cell := range []string{"", "-", ".", "none", "−"} {
		if got, ok := ParseNumber(cell); ok {
			t.Errorf("%q is %v", cell, got)
		}
	}
}

// TestPlainNumbers compares numbers that are parsed at once with what is found in them by a
// regular expression.
func TestPlainNumbers(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		cell := make([]byte, 1+random.IntN(6))
		for i := range cell {
			cell[i] = "0123-.,e "[random.IntN(9)]
		}
		if !isPlainNumber(string(cell)) {
			continue
		}
		want, err := strconv.ParseFloat(toPlain.Replace(digits().FindString(string(cell))), 64)
		if got, ok := ParseNumber(string(cell)); ok != (err == nil) || got != want {
			t.Errorf("%q is %v, %v, want %v", cell, got, ok, want)
		}
	}
}
