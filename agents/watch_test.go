package agents

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/internal/jsontext"
	"parley/llm"
	"parley/llm/reader"
)

// A change is told of results of all sizes, and of texts with any characters, and nothing else.
func TestWatchedChanges(t *testing.T) {
	t.Parallel()
	rows := func(count int, last string) (all []json.RawMessage) {
		for i := range count - 1 {
			all = append(all, json.RawMessage(fmt.Sprintf(`{"name":"a & b <%04d>"}`, i)))
		}
		return append(all, json.RawMessage(`{"name":"`+last+`"}`))
	}
	reversed := rows(3, "x")
	reversed[0], reversed[2] = reversed[2], reversed[0]
	for _, test := range []struct {
		name        string
		before, now llm.Rows
		want        string
	}{
		{"the same", llm.Rows{Rows: rows(3, "x")}, llm.Rows{Rows: rows(3, "x")}, ""},
		{"in another order", llm.Rows{Rows: rows(3, "x")}, llm.Rows{Rows: reversed}, ""},
		{"sums of doubles", llm.Rows{Rows: []json.RawMessage{[]byte(`{"name":"x","sum":67174.65000000008}`), []byte(`{"name":"y","sum":1}`)}}, llm.Rows{Rows: []json.RawMessage{[]byte(`{"name":"x","sum":67174.64999999998}`), []byte(`{"name":"y","sum":1}`)}}, ""},
		{"a long text", llm.Rows{Rows: rows(1, strings.Repeat("x", 500)+"1")}, llm.Rows{Rows: rows(1, strings.Repeat("x", 500)+"2")}, "The name is " + strings.Repeat("x", 200) + "… now, and was " + strings.Repeat("x", 200) + "…."},
		{"a row", llm.Rows{Rows: rows(3, "x")}, llm.Rows{Rows: rows(4, "x")}, "1 row new, 0 gone. There are 4 rows now."},
		{"the same of many", llm.Rows{Rows: rows(900, "x")}, llm.Rows{Rows: rows(900, "x")}, ""},
		{"a value of many", llm.Rows{Rows: rows(900, "x")}, llm.Rows{Rows: rows(900, "y")}, "Some of the rows have changed."},
		{"many more", llm.Rows{Rows: rows(900, "x")}, llm.Rows{Rows: rows(901, "y")}, "There are 901 rows now, and were 900."},
		{"some of more, in any order", llm.Rows{Rows: rows(1000, "x"), Truncated: true, Total: 2000}, llm.Rows{Rows: rows(1000, "y"), Truncated: true, Total: 2000}, ""},
		{"more of them", llm.Rows{Rows: rows(1000, "x"), Truncated: true, Total: 2000}, llm.Rows{Rows: rows(1000, "y"), Truncated: true, Total: 2001}, "There are 2,001 rows now, and were 2,000."},
	} {
		test.before.Columns, test.now.Columns = []string{"name"}, []string{"name"}
		found := func(rows llm.Rows) Found { return Found{Step: llm.Step{Rows: rows}} }
		before, err := jsontext.Marshal(newWatched(found(test.before)))
		if err != nil {
			t.Fatal(err)
		}
		now := found(test.now)
		got, err := Watcher{Change: reader.Change}.change(before, newWatched(now), now)
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v, want %q", test.name, got, err, test.want)
		}
	}
	if got, err := (Watcher{Change: reader.Change}).change(nil, watched{}, Found{}); got != "" || err != nil {
		t.Errorf("at first: %q, %v", got, err)
	}
}
