package eval

import (
	"encoding/json"
	"testing"
)

func n(text string) json.Number { return json.Number(text) }

func TestMatchRows(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		q    Question
		rows [][]any
		want bool
	}{
		{"same", Question{Answer: [][]any{{"a", n("1")}}}, [][]any{{"a", n("1")}}, true},
		{"columns swapped", Question{Answer: [][]any{{"a", n("1")}, {"b", n("2")}}}, [][]any{{n("2"), "b"}, {n("1"), "a"}}, true},
		{"columns swapped in one row only", Question{Answer: [][]any{{n("1"), n("2")}, {n("3"), n("4")}}}, [][]any{{n("2"), n("1")}, {n("3"), n("4")}}, false},
		{"one column more", Question{Answer: [][]any{{"a"}}}, [][]any{{"a", "b"}}, false},
		{"one row more", Question{Answer: [][]any{{"a"}}}, [][]any{{"a"}, {"a"}}, false},
		{"same set, other multiset", Question{Answer: [][]any{{"a"}, {"a"}, {"b"}}}, [][]any{{"a"}, {"b"}, {"b"}}, false},
		{"order", Question{Answer: [][]any{{"a"}, {"b"}}, Ordered: true}, [][]any{{"b"}, {"a"}}, false},
		{"no order", Question{Answer: [][]any{{"a"}, {"b"}}}, [][]any{{"b"}, {"a"}}, true},
		{"order in blocks", Question{Answer: [][]any{{"a"}, {"b"}, {"c"}}, Ordered: true, Blocks: []int{2, 1}}, [][]any{{"b"}, {"a"}, {"c"}}, true},
		{"order across blocks", Question{Answer: [][]any{{"a"}, {"b"}, {"c"}}, Ordered: true, Blocks: []int{2, 1}}, [][]any{{"a"}, {"c"}, {"b"}}, false},
		{"number and text", Question{Answer: [][]any{{"2014"}}}, [][]any{{n("2014.0")}}, true},
		{"tolerance", Question{Answer: [][]any{{n("3.3333333")}}}, [][]any{{n("3.3333334")}}, true},
		{"beyond tolerance", Question{Answer: [][]any{{n("3.333")}}}, [][]any{{n("3.334")}}, false},
		{"null and empty", Question{Answer: [][]any{{nil}}}, [][]any{{""}}, true},
		{"null and zero", Question{Answer: [][]any{{nil}}}, [][]any{{n("0")}}, false},
		{"boolean", Question{Answer: [][]any{{n("1")}}}, [][]any{{true}}, true},
		{"timestamps", Question{Answer: [][]any{{"2020-01-02 00:00:00"}}}, [][]any{{"2020-01-02"}}, true},
		{"timestamps with zone", Question{Answer: [][]any{{"2020-01-02 03:04:05"}}}, [][]any{{"2020-01-02T03:04:05Z"}}, true},
		{"case", Question{Answer: [][]any{{"Ab"}}}, [][]any{{"ab"}}, false},
		{"outer blanks", Question{Answer: [][]any{{"Ab "}}}, [][]any{{" Ab"}}, true},
		{"alternative", Question{Answer: [][]any{{"a"}}, Alternatives: [][][]any{{{"b"}}}}, [][]any{{"b"}}, true},
		{"nothing", Question{}, [][]any{}, true},
		{"nothing wanted", Question{}, [][]any{{"a"}}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.q.Match = MatchRows
			if got := test.q.Matches(test.rows); got != test.want {
				t.Errorf("Matches(%v) = %v, want %v", test.rows, got, test.want)
			}
		})
	}
}

func TestMatchValues(t *testing.T) {
	t.Parallel()
	one := func(values ...any) [][]any {
		var rows [][]any
		for _, v := range values {
			rows = append(rows, []any{v})
		}
		return rows
	}
	tests := []struct {
		name   string
		answer [][]any
		raw    []string
		rows   [][]any
		want   bool
	}{
		{"same", one("Rome"), nil, one("rome"), true},
		{"accents and dashes", one("São João – x"), nil, one("Sao Joao - x"), true},
		{"citation and brackets", one("Rome"), nil, one("Rome (capital) [3]"), true},
		{"quotes and full stop", one("Rome"), nil, one(`"Rome."`), true},
		{"thousands", one(n("1234")), nil, one("1,234"), true},
		{"not thousands", one(n("1234")), nil, one("12,34"), false},
		{"as its author wrote it", one(n("17")), []string{"17 years"}, one("17 years"), true},
		{"dates", one("1999-03-xx"), nil, one("1999-03-XX"), true},
		{"other dates", one("1999-03-01"), nil, one("1999-03-02"), false},
		{"set", one("a", "b"), nil, [][]any{{"b", "a"}, {"a", "a"}}, true},
		{"one more", one("a"), nil, one("a", "b"), false},
		{"one less", one("a", "b"), nil, one("a"), false},
		{"boolean", one("yes"), nil, one(true), true},
		{"null", one("a"), nil, one(nil), false},
		{"null besides", one("a"), nil, [][]any{{"a", nil}}, false},
		{"pairs need a search", one(n("1"), n("2")), []string{"2", "x"}, one(n("2"), n("1")), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			q := Question{Answer: test.answer, Raw: test.raw, Match: MatchValues}
			if got := q.Matches(test.rows); got != test.want {
				t.Errorf("Matches(%v) = %v, want %v", test.rows, got, test.want)
			}
		})
	}
}
