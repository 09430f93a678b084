package lru_test

import (
	"slices"
	"testing"

	"parley/internal/lru"
)

func TestSizeLimit(t *testing.T) {
	t.Parallel()
	c := lru.New[int, int](1000)
	for i := range 50 {
		c.Put(i, i, 300)
	}
	c.Put(100, 100, 2000)
	known := func() (all []int) {
		for i := range 101 {
			if v, ok := c.Get(i); ok && v == i {
				all = append(all, i)
			}
		}
		return all
	}
	if got := known(); !slices.Equal(got, []int{47, 48, 49}) {
		t.Errorf("%v", got)
	}
	c.Get(47)
	c.Put(50, 50, 300)
	if got := known(); !slices.Equal(got, []int{47, 49, 50}) {
		t.Errorf("what was used last was dropped: %v", got)
	}
	c.Put(50, 50, 100)
	c.Put(51, 51, 300)
	if got := known(); !slices.Equal(got, []int{47, 49, 50, 51}) {
		t.Errorf("%v", got)
	}
	c.Put(51, 51, 2000)
	if _, ok := c.Get(51); ok {
		t.Error("what is too large is kept")
	}
}
