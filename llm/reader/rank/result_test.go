package rank_test

import (
	"encoding/json"
	"testing"

	"parley/llm/reader/rank"
)

func TestResultOf(t *testing.T) {
	t.Parallel()
	n := func(text string) any { return json.Number(text) }
	one := rank.ResultOf([][]any{{"a", n("1")}, {"b", n("2.5")}})
	for name, same := range map[string][][]any{
		"other order of rows":    {{"b", n("2.5")}, {"a", n("1")}},
		"other order of columns": {{n("1"), "a"}, {n("2.5"), "b"}},
		"other digits":           {{"a", n("1.0")}, {"b", n("2.5000000000000004")}},
	} {
		if rank.ResultOf(same).Key != one.Key {
			t.Errorf("%s is another result", name)
		}
	}
	for name, other := range map[string][][]any{
		"other pairs":     {{"a", n("2.5")}, {"b", n("1")}},
		"a text":          {{"a", "1"}, {"b", n("2.5")}},
		"fewer rows":      {{"a", n("1")}},
		"a missing value": {{"a", n("1")}, {"b", nil}},
		"nothing":         nil,
	} {
		if rank.ResultOf(other).Key == one.Key {
			t.Errorf("%s is the same result", name)
		}
	}
	if one.Repeated || one.Empty || one.Rows != 2 {
		t.Errorf("%+v", one)
	}
	if r := rank.ResultOf([][]any{{"a"}, {"a"}}); !r.Repeated {
		t.Error("rows that are equal are not")
	}
	if !rank.ResultOf([][]any{{nil}}).Empty || !rank.ResultOf(nil).Empty || rank.ResultOf([][]any{{n("0")}}).Empty {
		t.Error("empty")
	}
}
