package domain

import (
	"slices"
	"strings"
	"testing"
)

func TestCheckLinks(t *testing.T) {
	t.Parallel()
	one := func(columns, to, toColumns string) Link {
		return Link{From: "orders", Columns: strings.Fields(columns), To: to, ToColumns: strings.Fields(toColumns)}
	}
	labelled := one("a", "customers", "id")
	labelled.Label = strings.Repeat("ä", maxLinkLabel)
	tooLong := one("b", "customers", "id")
	tooLong.Label = labelled.Label + "x"
	for name, test := range map[string]struct {
		links []Link
		want  []string
	}{
		"none":            {nil, nil},
		"right":           {[]Link{labelled, one("a b", "customers", "x y"), one("a", "orders", "id")}, nil},
		"no columns":      {[]Link{one("", "customers", "")}, []string{"links[0].columns", "links[0].toColumns"}},
		"other counts":    {[]Link{one("a b", "customers", "x")}, []string{"links[0].toColumns"}},
		"a column twice":  {[]Link{one("a A", "customers", "x y")}, []string{"links[0].columns"}},
		"too many":        {[]Link{one("a b c d e f g h i", "customers", "a b c d e f g h i")}, []string{"links[0].columns", "links[0].toColumns"}},
		"internal column": {[]Link{one("__a", "customers", "x")}, []string{"links[0].columns"}},
		"no dataset":      {[]Link{one("a", "", "x")}, []string{"links[0].dataset"}},
		"a long label":    {[]Link{tooLong}, []string{"links[0].label"}},
		"a link twice":    {[]Link{one("a", "customers", "id"), one("A", "Customers", "ID")}, []string{"links[1].columns"}},
		"too many links":  {make([]Link, MaxLinks+1), []string{"links"}},
	} {
		var fields []string
		for _, wrong := range CheckLinks(test.links) {
			fields = append(fields, wrong.Field)
		}
		if !slices.Equal(fields, test.want) {
			t.Errorf("%s: got %v, want %v", name, fields, test.want)
		}
	}
}
