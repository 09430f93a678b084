package benchtest

import (
	"os"
	"slices"
	"testing"
	"time"
)

func TestSizes(t *testing.T) {
	t.Setenv("PARLEY_BENCH", "")
	if got := Sizes(8, 1, 8, 32); !slices.Equal(got, []int{8}) {
		t.Errorf("usually %v", got)
	}
	t.Setenv("PARLEY_BENCH", "full")
	if got := Sizes(8, 1, 8, 32); !slices.Equal(got, []int{1, 8, 32}) {
		t.Errorf("in full %v", got)
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	var took []time.Duration
	if got := Percentile(took, 50); got != 0 {
		t.Errorf("of none: %v", got)
	}
	for i := range 100 {
		took = append(took, time.Duration(100-i))
	}
	for n, want := range map[int]time.Duration{0: 1, 50: 51, 99: 100, 100: 100} {
		if got := Percentile(took, n); got != want {
			t.Errorf("%d of a hundred: %v, want %v", n, got, want)
		}
	}
}

// TestOwnFigures has the kernel tell of this process.
func TestOwnFigures(t *testing.T) {
	t.Parallel()
	for until := CPU() + 50*time.Millisecond; CPU() < until; {
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("no /proc")
	}
	if got := CPUOf(os.Getpid()); got < 40*time.Millisecond {
		t.Errorf("at work for %v", got)
	}
	if now, most := Memory(os.Getpid(), "VmRSS"), Memory(os.Getpid(), "VmHWM"); now < 1<<20 || most < now/2 {
		t.Errorf("%d bytes, at most %d", now, most)
	}
	if got := CPUOf(-1); got != 0 {
		t.Errorf("no process at work for %v", got)
	}
}
