package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figure is the result of a benchmark at one size.
type figure struct {
	Folder    string `json:"folder"`
	Benchmark string `json:"benchmark"`
	// Sizes are the parts of the name such as clients=32.
	Sizes map[string]string `json:"sizes,omitempty"`
	Times int               `json:"times"`
	// Values are the values by their unit.
	Values map[string]float64 `json:"values"`
}

type figures []figure

// processors is the suffix that Go adds to the name of a benchmark.
var processors = regexp.MustCompile(`-\d+$`)

// parse parses a line of a benchmark's output, if it has figures:
// "BenchmarkRead/store=sqlite/clients=8-2  100  12.5 reads/s …".
func parse(folder, line string) (figure, bool) {
	fields := strings.Fields(line)
	if len(fields) < 4 || len(fields)%2 != 0 || !strings.HasPrefix(fields[0], "Benchmark") {
		return figure{}, false
	}
	parts := strings.Split(processors.ReplaceAllString(fields[0], ""), "/")
	f := figure{Folder: folder, Benchmark: strings.TrimPrefix(parts[0], "Benchmark"), Sizes: map[string]string{}, Values: map[string]float64{}}
	for _, part := range parts[1:] {
		key, value, ok := strings.Cut(part, "=")
		if !ok {
			return figure{}, false
		}
		f.Sizes[key] = value
	}
	var err error
	if f.Times, err = strconv.Atoi(fields[1]); err != nil {
		return figure{}, false
	}
	for i := 2; i < len(fields); i += 2 {
		if f.Values[fields[i+1]], err = strconv.ParseFloat(fields[i], 64); err != nil {
			return figure{}, false
		}
	}
	return f, true
}

// String formats a figure for the progress.
func (f figure) String() string {
	var text []string
	for _, key := range slices.Sorted(maps.Keys(f.Sizes)) {
		text = append(text, key+"="+f.Sizes[key])
	}
	text = append(text, "→")
	for _, unit := range slices.Sorted(maps.Keys(f.Values)) {
		text = append(text, number(f.Values[unit])+" "+unit)
	}
	return strings.Join(text, " ")
}

// pick names a value: of a benchmark, with sizes as in "store=sqlite clients=8",
// in a unit.
type pick struct{ benchmark, sizes, unit string }

// fits reports whether a figure has the value and the sizes.
func (p pick) fits(f figure) bool {
	for _, size := range strings.Fields(p.sizes) {
		key, value, _ := strings.Cut(size, "=")
		if f.Sizes[key] != value {
			return false
		}
	}
	_, ok := f.Values[p.unit]
	return ok && f.Benchmark == p.benchmark
}

func (all figures) value(p pick) (float64, bool) {
	at := slices.IndexFunc(all, p.fits)
	if at < 0 {
		return 0, false
	}
	return all[at].Values[p.unit], true
}

// point is a value at a size.
type point struct{ size, value float64 }

// points returns a value by size.
func (all figures) points(p pick, axis string) (line []point) {
	for _, f := range all {
		size, err := strconv.ParseFloat(f.Sizes[axis], 64)
		if err == nil && p.fits(f) {
			line = append(line, point{size, f.Values[p.unit]})
		}
	}
	slices.SortFunc(line, func(a, b point) int { return cmp.Compare(a.size, b.size) })
	return line
}

// number formats a value with three significant digits.
func number(v float64) string {
	switch a := max(v, -v); {
	case a >= 1000:
		return whole(v)
	case a >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case a >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case a >= 1 || v == 0:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// whole formats a whole number with thousands separators.
func whole(v float64) string {
	digits := strconv.FormatFloat(v, 'f', 0, 64)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// short formats a size: 32, 10k, 5M.
func short(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%gM", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%gk", v/1e3)
	}
	return whole(v)
}
