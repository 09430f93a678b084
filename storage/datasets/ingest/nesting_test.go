package ingest

import (
	"strings"
	"testing"
)

func TestNesting(t *testing.T) {
	t.Parallel()
	for typ, want := range map[string]int{
		"BIGINT":                          0,
		"BIGINT[]":                        1,
		"BIGINT[3][]":                     2,
		"DECIMAL(18,3)":                   1,
		"STRUCT(a BIGINT, b VARCHAR[])":   2,
		"STRUCT(a BIGINT[], b VARCHAR)[]": 3,
		`STRUCT("x)[][][],(" BIGINT, b MAP(VARCHAR, BIGINT[]))`:                3,
		"STRUCT(a STRUCT(b BIGINT[])[], c STRUCT(d BIGINT))[]":                 5,
		"STRUCT(" + strings.Repeat("a BIGINT[], ", 100) + "b BIGINT)":          2,
		"BIGINT" + strings.Repeat("[]", 80):                                    80,
		strings.Repeat("STRUCT(a ", 30) + "BIGINT" + strings.Repeat(")[]", 30): 60,
		"ENUM('a)', '[]]')": 1,
	} {
		if got := nesting(typ); got != want {
			t.Errorf("%s: got %d, want %d", typ, got, want)
		}
	}
}
