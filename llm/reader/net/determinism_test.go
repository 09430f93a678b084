package net

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"testing"
)

// TestDeterministicOnAnyProcessorCount reads questions on one to four processors: numbers and
// queries are the same to the last bit. It sets the number of processors, so it does not
// run beside other tests.
func TestDeterministicOnAnyProcessorCount(t *testing.T) {
	n := builtIn(t)
	type result struct {
		memory     []float32
		answerable float64
		candidates []Candidate
	}
	read := func(question string) result {
		in, cat := ask(question)
		e := n.Encode(in)
		return result{e.memory.data, e.Answerable, n.Decode(e, cat)}
	}
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	for _, question := range []string{
		benchQuestion, "How many orders are there?",
		"average amount of orders over 100 that were cancelled last year, by city and month",
	} {
		runtime.GOMAXPROCS(1)
		want := read(question)
		if len(want.candidates) == 0 {
			t.Errorf("%s: nothing was written", question)
		}
		for _, processors := range []int{2, 3, 4} {
			runtime.GOMAXPROCS(processors)
			got := read(question)
			if !slices.Equal(got.memory, want.memory) || got.answerable != want.answerable || !reflect.DeepEqual(got.candidates, want.candidates) {
				t.Errorf("%s: another result on %d processors", question, processors)
			}
		}
	}
}

// TestExp compares the exponential function with the library's.
func TestExp(t *testing.T) {
	t.Parallel()
	worst := 0.0
	for x := float32(-86); x < 86; x += 0.0137 {
		want := math.Exp(float64(x))
		worst = max(worst, math.Abs(float64(exp(x))-want)/want)
	}
	if worst > 1e-5 {
		t.Errorf("the relative error is %v", worst)
	}
	if exp(-1000) > 1e-37 || exp(1000) < 1e38 {
		t.Errorf("exp(-1000) is %v and exp(1000) is %v", exp(-1000), exp(1000))
	}
}
