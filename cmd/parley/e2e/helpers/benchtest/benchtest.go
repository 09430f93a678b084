// Package benchtest says how large benchmarks are, and sums up what they saw.
package benchtest

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Clients are the numbers of clients at once that a full run measures.
var Clients = []int{1, 8, 32, 128}

// Full says whether large sizes are asked for: PARLEY_BENCH=full.
func Full() bool { return os.Getenv("PARLEY_BENCH") == "full" }

// Sizes returns the sizes to measure: the usual one, or all in a full run.
func Sizes(usual int, all ...int) []int {
	if Full() {
		return all
	}
	return []int{usual}
}

// Each runs a benchmark for each size, named by what the size is of: "rows=1000".
func Each(b *testing.B, of string, sizes []int, run func(b *testing.B, size int)) {
	b.Helper()
	for _, size := range sizes {
		b.Run(fmt.Sprintf("%s=%d", of, size), func(b *testing.B) { run(b, size) })
	}
}

// Percentile returns the time that n of a hundred did not exceed, 0 of none. It
// sorts them.
func Percentile(took []time.Duration, n int) time.Duration {
	if len(took) == 0 {
		return 0
	}
	slices.Sort(took)
	return took[min(len(took)*n/100, len(took)-1)]
}

// Micros returns a time as microseconds to report.
func Micros(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e3 }

// Millis returns a time as milliseconds to report.
func Millis(t time.Duration) float64 { return float64(t.Nanoseconds()) / 1e6 }

// CPU is the time that this process has been at work.
func CPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// CPUOf is the time that another process has been at work, in steps of 10 ms; 0
// where the kernel does not tell.
func CPUOf(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	// The second field is a name in parentheses, which may hold anything.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int64
	if len(fields) > 12 {
		_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	}
	return time.Duration(user+system) * 10 * time.Millisecond
}

// Memory returns a figure of a process's memory, as /proc names it, in bytes: VmRSS
// or VmHWM. It is 0 where the kernel does not tell.
func Memory(pid int, figure string) int64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(text), figure+":")
	var kib int64
	_, _ = fmt.Sscan(rest, &kib)
	return kib << 10
}
