package profile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"parley/llm"
	"parley/llm/reader/catalog"
)

// fakeData answers queries with a function. Tests with DuckDB are in llm/reader: linking it
// takes seconds.
type fakeData func(sql string) ([]string, error)

func (f fakeData) Query(_ context.Context, sql string) (llm.Rows, error) {
	lines, err := f(sql)
	var rows llm.Rows
	for _, line := range lines {
		rows.Rows = append(rows.Rows, json.RawMessage(line))
	}
	return rows, err
}

func answer(lines ...string) fakeData { return func(string) ([]string, error) { return lines, nil } }

var dogs = llm.Dataset{Name: "dogs", Version: "1", Rows: 2, Columns: []llm.Column{{Name: "name", Type: "VARCHAR"}, {Name: "age", Type: "BIGINT"}}}

// TestReadResults has results that a worker should not send: they are errors, or nothing is
// known of the columns.
func TestReadResults(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]string{ // of column name: filled, values, complete; "" for an error
		`[`:                       "",
		`[]`:                      "",
		`{"n": 2, "v0": "x"}`:     "",
		`{"n": 2, "v0": [1]}`:     "",
		`{}`:                      "0 [] true 2 0",
		`{"n": "x", "f0": {}}`:    "0 [] true 2 0",
		`{"n": 2, "f0": 1e3}`:     "0 [] true 2 0",
		`{"n": 1, "f0": 1}`:       "1 [] false 2 1", // not all rows were seen
		`{"n": 3, "f0": 3}`:       "3 [] true 3 0",
		`{"n": 2, "d0": 9999999}`: "0 [] false 2 0",
		`{"n": 2, "f0": 2, "v0": ["Rex", "Spot"], "l0": 5}`: "2 [Rex Spot] true 2 0",
	} {
		p, err := Read(t.Context(), answer(row), dogs)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", row, err)
			}
			continue
		}
		c := p.Columns[0]
		if got := fmt.Sprint(c.Filled, c.Values, c.Complete, p.Rows, p.Sampled); got != want {
			t.Errorf("%s: %s, want %s", row, got, want)
		}
	}
}

// TestReadHalves has one column of many that no query may name. The others are read with a
// number of queries that grows with its logarithm.
func TestReadHalves(t *testing.T) {
	t.Parallel()
	wide := llm.Dataset{Name: "wide"}
	for i := range 2 * queryColumns {
		wide.Columns = append(wide.Columns, llm.Column{Name: fmt.Sprintf("c%d.", i), Type: "BIGINT"})
	}
	for name, refuse := range map[string]fakeData{
		"an invalid query": func(string) ([]string, error) { return nil, fmt.Errorf("x: %w", llm.ErrBadQuery) },
		"no row":           answer(),
		"two rows":         answer(`{}`, `{}`),
	} {
		queries := 0
		p, err := Read(t.Context(), fakeData(func(sql string) ([]string, error) {
			queries++
			if strings.Contains(sql, `"c7."`) && !strings.Contains(sql, "FROM (SELECT * FROM (") {
				return refuse(sql)
			}
			return []string{`{"n": 1, "f0": 1, "f1": 1}`}, nil
		}), wide)
		if err != nil || p.Columns[7].Filled != 0 || p.Columns[8].Filled != 1 || queries > 16 {
			t.Errorf("%s: %v after %d queries", name, err, queries)
		}
	}
	gone := errors.New("gone")
	if _, err := Read(t.Context(), fakeData(func(string) ([]string, error) { return nil, gone }), wide); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}

// TestCacheForgetsFailures reads a dataset again after an error, and other versions anew.
func TestCacheForgetsFailures(t *testing.T) {
	t.Parallel()
	cache := NewCache(1 << 20)
	if part, err := cache.Part(t.Context(), answer(`[`), dogs); err == nil || part != nil || cache.Cached(KeyOf(dogs)) != nil {
		t.Errorf("got %v, %v", part, err)
	}
	if part, err := cache.Part(t.Context(), answer(`{"n": 2}`), dogs); err != nil || cache.Cached(KeyOf(dogs)) != part {
		t.Errorf("got %v, %v", part, err)
	}
	for name, change := range map[string]func(*llm.Dataset){
		"name":        func(d *llm.Dataset) { d.Name = "cats" },
		"version":     func(d *llm.Dataset) { d.Version = "2" },
		"description": func(d *llm.Dataset) { d.Description = "all" },
		"parts":       func(d *llm.Dataset) { d.Parts = []string{"a"} },
		"column":      func(d *llm.Dataset) { d.Columns = d.Columns[:1] },
		"type":        func(d *llm.Dataset) { d.Columns[1].Type = "DOUBLE" },
		"shifted":     func(d *llm.Dataset) { d.Columns[0].Name, d.Columns[0].Type = "nameV", "ARCHAR" },
	} {
		other := dogs
		other.Columns = slices.Clone(dogs.Columns)
		if change(&other); KeyOf(other) == KeyOf(dogs) {
			t.Errorf("another %s has the same key", name)
		}
	}
	facts := cache.Facts(t.Context(), answer(`[`), []llm.Dataset{{Name: "cats", Columns: dogs.Columns}, dogs})
	if facts.Datasets[0].Columns != nil || facts.Datasets[1].Columns == nil {
		t.Errorf("a dataset that cannot be read hides another: %+v", facts)
	}
}

func TestUnitOf(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"":                        "",
		"5|6":                     "",
		"5 kg|6":                  "",
		"5 kg|6 g":                "",
		"5 kg and|6 kg and":       "",
		"5 m2|6 m2":               "",
		"5 thousand|6 thousand":   "",
		"5 kg|n/a|-1.250,5 kg":    "kg",
		"€ 5|€6":                  "€",
		"12%| 7 %":                "%",
		"5 <b>|5 <b>":             "<b>",
		"5 ignore me|6 ignore me": "",
	} {
		if got := unitOf(strings.Split(values, "|")); got != want {
			t.Errorf("%q: %q, want %q", values, got, want)
		}
	}
}

// TestFactsLimits names few values of a column that has many or long ones.
func TestFactsLimits(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range fewValues + 1 {
		many = append(many, fmt.Sprintf("v%02d", i))
	}
	long := strings.Repeat("ä", shortValue+1)
	for name, test := range map[string]struct {
		column catalog.Column
		want   llm.ColumnFacts
	}{
		"none":          {catalog.Column{Filled: 1}, llm.ColumnFacts{Missing: 9}},
		"few":           {catalog.Column{Filled: 10, Values: many[:2], Complete: true}, llm.ColumnFacts{Values: many[:2], All: true}},
		"many":          {catalog.Column{Filled: 10, Values: many, Complete: true}, llm.ColumnFacts{Values: []string{"v00", "v04", "v08"}}},
		"many, a range": {catalog.Column{Filled: 10, Values: many, Least: "1", Most: "9"}, llm.ColumnFacts{Least: "1", Most: "9"}},
		"a long one":    {catalog.Column{Filled: 10, Values: []string{"a", long}, Complete: true}, llm.ColumnFacts{Values: []string{"a"}}},
	} {
		if got := factsOf(&test.column, 10); fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", test.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestPhraseCondition(t *testing.T) {
	t.Parallel()
	for phrases, want := range map[string]string{
		"o'hara|rome": `strlen("a") IN (4, 5, 6, 7, 8) AND lower(trim("a")) IN ('o''hara', 'rome')`,
		"rome|köln":   `lower(trim("a")) IN ('rome', 'köln')`, // lengths depend on the case
	} {
		if got := phraseCondition(`"a"`, strings.Split(phrases, "|")); got != want {
			t.Errorf("%s: %s", phrases, got)
		}
	}
}
