package main

import (
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, ok := parse("rest", "BenchmarkRead/store=sqlite/clients=8-2         \t    6000\t     20502 bare-reads/s\t         0.4030 of-bare")
	want := figure{
		Folder: "rest", Benchmark: "Read", Times: 6000,
		Sizes:  map[string]string{"store": "sqlite", "clients": "8"},
		Values: map[string]float64{"bare-reads/s": 20502, "of-bare": 0.403},
	}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("read %v (- wanted, + got):\n%s", ok, diff)
	}
	if got, ok := parse("a", "BenchmarkIdle 1 71.3 MiB"); !ok || got.Benchmark != "Idle" || len(got.Sizes) != 0 {
		t.Errorf("on one core: %+v", got)
	}
	for _, line := range []string{
		"", "PASS", "ok  \tparley/rest\t12.3s", "cpu: Intel(R) Xeon(R) Processor", "BenchmarkRead/clients=8-2", "--- FAIL: BenchmarkRead/clients=8",
		"BenchmarkRead/clients=8-2 many 12 ms", "BenchmarkRead/clients=8-2 10 fast ms", "BenchmarkRead/clients=8-2 10 12", "BenchmarkRead/eight-2 10 12 ms",
		"    bench_test.go:12: BenchmarkRead 1 2 ms",
	} {
		if got, ok := parse("a", line); ok {
			t.Errorf("%q is read as %+v", line, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for value, want := range map[float64]string{
		0: "0.00", 0.16666: "0.167", 1.2345: "1.23", 12.345: "12.3", 123.45: "123", 1234.5: "1,234", 1234567: "1,234,567", -1234: "-1,234", -0.5: "-0.5",
	} {
		if got := number(value); got != want {
			t.Errorf("%v is written %s, want %s", value, got, want)
		}
	}
	for size, want := range map[float64]string{1: "1", 128: "128", 1000: "1,000", 10000: "10k", 5e6: "5M"} {
		if got := short(size); got != want {
			t.Errorf("%v is written %s, want %s", size, got, want)
		}
	}
}

// some figures, of two lines one of which lacks a size.
var some = figures{
	{Benchmark: "Read", Sizes: map[string]string{"clients": "128", "store": "a"}, Values: map[string]float64{"ms": 30}},
	{Benchmark: "Read", Sizes: map[string]string{"clients": "1", "store": "a"}, Values: map[string]float64{"ms": 3}},
	{Benchmark: "Read", Sizes: map[string]string{"clients": "1", "store": "b"}, Values: map[string]float64{"ms": 0.5}},
	{Benchmark: "Other", Sizes: map[string]string{"clients": "1"}, Values: map[string]float64{"ms": 99}},
}

var someGrowth = growth{"reads", `Reads <of> "all" & more`, "ms", "clients", []series{
	{"a < b", pick{"Read", "store=a", "ms"}},
	{"b", pick{"Read", "store=b", "ms"}},
	{"c", pick{"Read", "store=c", "ms"}},
}}

func TestMissingIsNotZero(t *testing.T) {
	t.Parallel()
	h := held{pick: pick{"Read", "store=c", "ms"}, limit: 10, in: "ms"}
	if measured, holds := h.verdict(some); measured != "not measured" || holds != "?" {
		t.Errorf("what is missing is %q, and holds: %q", measured, holds)
	}
	var text strings.Builder
	someGrowth.table(some, func(format string, args ...any) {
		for _, arg := range args {
			text.WriteString(arg.(string) + "\n")
		}
	})
	const want = "| clients | a < b | b | c |\n|---:|---:|---:|---:|\n| 1 | 3.00 | 0.5 | – |\n| 128 | 30.0 | – | – |\n"
	if text.String() != want {
		t.Errorf("the table is\n%s", text.String())
	}
	if got, want := someGrowth.sentence(some), "From 1 to 128 clients: a < b 3.00 to 30.0 ms (10.0 times)."; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := someGrowth.sentence(nil); !strings.HasPrefix(got, "Not measured") {
		t.Error(got)
	}
	empty := report{}.markdown()
	if strings.Count(empty, "| not measured | ? |") != len(numbers) || strings.Contains(empty, "0.00") {
		t.Errorf("an empty report is\n%s", empty)
	}
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit   float64
		atLeast bool
		want    string
	}{{3, false, "yes"}, {2.9, false, "**no**"}, {3, true, "yes"}, {3.1, true, "**no**"}} {
		h := held{pick: pick{"Read", "store=a clients=1", "ms"}, limit: c.limit, atLeast: c.atLeast, in: "ms"}
		if measured, holds := h.verdict(some); measured != "3.00 ms" || holds != c.want {
			t.Errorf("%+v: %s, %s", c, measured, holds)
		}
	}
}

// TestPlots has plots be XML, with something of every size measured, of some or
// of none.
func TestPlots(t *testing.T) {
	t.Parallel()
	for _, all := range []figures{nil, some[:1], some} {
		text := someGrowth.svg(all)
		for decoder := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := decoder.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%v:\n%s", err, text)
			}
		}
		if strings.Contains(text, "NaN") || strings.Contains(text, "Inf") || strings.Contains(text, "%!") {
			t.Errorf("a plot has no place for something:\n%s", text)
		}
		if got := strings.Count(text, "<title>"); got != len(all.of("Read")) {
			t.Errorf("%d points of %d", got, len(all))
		}
		if !strings.Contains(text, "not measured") {
			t.Errorf("nothing says what is missing:\n%s", text)
		}
	}
}

func (all figures) of(benchmark string) (found figures) {
	for _, f := range all {
		if f.Benchmark == benchmark {
			found = append(found, f)
		}
	}
	return found
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, values := range [][]float64{{3}, {1, 1}, {0.5, 30}, {99, 100, 101}, {1, 1e6}, {0.002, 7000}, {0, 5}} {
		all := figures{}
		low, high := 1e9, 0.0
		for _, v := range values {
			all = append(all, figure{Benchmark: "Read", Sizes: map[string]string{"clients": "1", "store": "a"}, Values: map[string]float64{"ms": v}})
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
		ticks := someGrowth.ticks(all)
		if n := len(ticks); n < 2 || n > 14 || ticks[0] > low || ticks[n-1] < high {
			t.Errorf("%v are drawn between %v", values, ticks)
		}
	}
}

// TestBenchmarksAreThere finds every benchmark that is run in its folder, and the
// one of every value that is shown.
func TestBenchmarksAreThere(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, b := range benchmarks {
		known[b.name] = true
		files, err := filepath.Glob(filepath.Join("../..", b.folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		is, found := regexp.MustCompile(`(?m)^func Benchmark`+b.name+`\(`), false
		for _, file := range files {
			text, err := os.ReadFile(file)
			found = found || err == nil && is.Match(text)
		}
		if !found {
			t.Errorf("%s has no benchmark %s", b.folder, b.name)
		}
	}
	for _, h := range numbers {
		if !known[h.benchmark] {
			t.Errorf("%s: no benchmark %s", h.work, h.benchmark)
		}
	}
	for _, c := range chapters {
		for _, g := range c.growths {
			if len(g.series) > 4 {
				t.Errorf("%s: more lines than colours", g.title)
			}
			for _, s := range g.series {
				if !known[s.benchmark] {
					t.Errorf("%s: no benchmark %s", g.title, s.benchmark)
				}
			}
		}
	}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	if all, err := choose(""); err != nil || len(all) != len(benchmarks) {
		t.Errorf("%d of %d, %v", len(all), len(benchmarks), err)
	}
	if one, err := choose("^Ask$"); err != nil || len(one) != 1 || one[0].name != "Ask" {
		t.Errorf("%+v, %v", one, err)
	}
	for _, only := range []string{"Nothing", "("} {
		if _, err := choose(only); err == nil {
			t.Errorf("%q chooses something", only)
		}
	}
}

func TestDuckDBVersion(t *testing.T) {
	t.Parallel()
	for library, want := range map[string]string{"v2.10505.0": "1.5.5", "v2.11012.3": "1.10.12", "": "", "v1.8.5": "v1.8.5"} {
		if got := duckdb(library); got != want {
			t.Errorf("%q has DuckDB %q, want %q", library, got, want)
		}
	}
}

// TestReportIsWhatItsFiguresMake draws the report that is committed anew.
func TestReportIsWhatItsFiguresMake(t *testing.T) {
	t.Parallel()
	const dir = "../../docs/bench"
	r, err := readReport(dir)
	if err != nil {
		t.Fatal(err)
	}
	files, err := r.files()
	if err != nil {
		t.Fatal(err)
	}
	there, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		content, err := os.ReadFile(filepath.Join(dir, file.Name()))
		if err != nil || string(content) != files[file.Name()] {
			t.Errorf("%s is not what the figures make (%v); run: go run ./cmd/bench --draw", file.Name(), err)
		}
		delete(files, file.Name())
	}
	for name := range maps.Keys(files) {
		t.Errorf("%s is missing", name)
	}
}
