package reader_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/link"
	"parley/llm/reader/profile"
)

// TestSearchValues finds the values of a column that has too many to be listed, and that
// questions name.
func TestSearchValues(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	d.Exec(`CREATE TABLE ports AS SELECT 'Base ' || i AS name, i AS berths FROM range(5000) AS r(i)`,
		`INSERT INTO ports VALUES ('New York', 1), ('NEW YORK ', 2), ('Zürich', 3), ('KÖLN', 4), ('O''Hara', 5), (NULL, 6)`)
	p, err := profile.Read(t.Context(), d, d.Dataset("ports"))
	if err != nil {
		t.Fatal(err)
	}
	cat := catalog.New([]*catalog.Profile{p}, nil)
	for question, want := range map[string][]string{
		"How many berths does base 4321 have?":           {"Base 4321"},
		"berths of zürich and köln":                      {"KÖLN", "Zürich"},
		`What about "New York"?`:                         {"NEW YORK ", "New York"},
		"the berths in new york":                         {"NEW YORK ", "New York"},
		"berths of O'Hara":                               {"O'Hara"},
		"What is the average number of berths?":          nil,
		"Which port has the most berths?":                nil,
		"x'); DROP TABLE ports; -- how many berths in '": nil,
	} {
		tokens := link.Tokenize(question)
		phrases := link.Phrases(tokens, cat, now)
		before := d.Queries.Load()
		cells, err := profile.SearchValues(t.Context(), d, cat, phrases)
		if err != nil {
			t.Fatal(err)
		}
		if n := d.Queries.Load() - before; n > 1 || n == 0 && len(phrases) > 0 {
			t.Errorf("%s: %d queries", question, n)
		}
		var got []string
		for _, c := range cells {
			got = append(got, c.Value)
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
		found := link.Values(tokens, cat.WithCells(cells), now)
		if ok := slices.ContainsFunc(found, func(v link.ValueMatch) bool { return len(v.Cells[0]) > 0 && v.Exact }); ok != (len(want) > 0) {
			t.Errorf("%s: found %+v", question, found)
		}
	}
	if phrases := link.Phrases(link.Tokenize("What is the average number of berths?"), cat, now); len(phrases) > 0 {
		t.Errorf("looked for %q", phrases)
	}
	away := errors.New("away")
	if _, err := profile.SearchValues(t.Context(), failingData{d, "ports", away}, cat, []string{"x"}); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
	if cells, err := profile.SearchValues(t.Context(), failingData{d, "ports", fmt.Errorf("%w: x", llm.ErrBadQuery)}, cat, []string{"x"}); err != nil || cells != nil {
		t.Errorf("got %v", err)
	}
}
