package rules

import (
	"slices"
	"strings"
	"testing"
)

// TestLookedUp finds phrases in any case and with a space around them.
func TestLookedUp(t *testing.T) {
	t.Parallel()
	d := newDuck(t)
	for phrases, want := range map[string]string{
		"new york":       " New York,NEW YORK,New York ",
		"york":           "York",
		"york,köln":      "KÖLN,York",
		"straße,nowhere": "Straße",
		"nowhere":        "",
	} {
		var open []openPhrase
		for _, text := range strings.Split(phrases, ",") {
			open = append(open, openPhrase{text: text})
		}
		rows, err := d.Query(t.Context(), `SELECT v AS "the value" FROM (VALUES ('New York '), (' New York'), ('NEW YORK'), ('York'), ('Yorkshire'),
			('KÖLN'), ('Straße'), (''), (NULL)) AS t(v) WHERE `+isOneOf("v", open))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows.Rows {
			_, value, _ := strings.Cut(strings.Trim(string(row), "{}"), ":")
			got = append(got, strings.Trim(value, `"`))
		}
		slices.Sort(got)
		if strings.Join(got, ",") != want {
			t.Errorf("%s: %q, want %q", phrases, got, want)
		}
	}
}
