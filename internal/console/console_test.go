package console

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestHarmless(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain, żółw, 日本, 👩‍🔬":               "plain, żółw, 日本, 👩‍🔬",
		"\x1b]0;title\x07\x1b[2J":            `\x1b]0;title\x07\x1b[2J`,
		"two\nlines\tand\ra return":          `two\nlines\tand\ra return`,
		"\u009b31m, \u202eright\u2069":       `\u009b31m, \u202eright\u2069`,
		"not \xff UTF-8, but \ufffd is":      `not \xff UTF-8, but ` + "\ufffd is",
		"tags \U000e0041, lines \u2028\x7f!": `tags \U000e0041, lines \u2028\x7f!`,
	} {
		if got := Line(text); got != want {
			t.Errorf("%q is shown as %s, want %s", text, got, want)
		}
	}
	if got := Text("a\r\nb\tc\rd\x1b"); got != "a\nb\tc"+`\rd\x1b` {
		t.Errorf("text: %q", got)
	}
	const said = "{\"a\":\"\u009b\u202e\U000e0041 é\",\n \"b\": 1}"
	harmless := JSON([]byte(said))
	var want, got any
	if json.Unmarshal([]byte(said), &want) != nil || json.Unmarshal(harmless, &got) != nil || got.(map[string]any)["a"] != want.(map[string]any)["a"] {
		t.Errorf("JSON: %s", harmless)
	}
	if strings.ContainsAny(string(harmless), "\u009b\u202e") {
		t.Errorf("JSON: %q", harmless)
	}
}

func FuzzHarmless(f *testing.F) {
	f.Add("\x1b[31m\u202e\xff")
	f.Fuzz(func(t *testing.T, text string) {
		if strings.ContainsFunc(Line(text), func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
			t.Errorf("%q is shown as %q", text, Line(text))
		}
		for _, width := range []int{1, 5} {
			if got := Cut(Line(text), width); Width(got) > width {
				t.Errorf("%q is cut to %q", text, got)
			}
		}
	})
}

func rows(t *testing.T, text string) Table {
	t.Helper()
	var rows []json.RawMessage
	if err := json.Unmarshal([]byte(text), &rows); err != nil {
		t.Fatal(err)
	}
	table, err := Rows(rows)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

func TestTable(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		rows  string
		style Style
		want  string
	}{
		"numbers to the right": {`[{"z":"a","n":1,"big":"9007199254740993","__metadata":{"score":1.0}},{"z":"bcd","n":-20.5,"big":null}]`, Style{}, `
z        n               big
---  -----  ----------------
a        1  9007199254740993
bcd  -20.5                 —
`},
		"columns that some lack": {`[{"a":1},{"b":[1, {"c":"d"}],"a":true}]`, Style{}, `
a     b
----  -------------
1     —
true  [1,{"c":"d"}]
`},
		"scores": {`[{"text":"x","__metadata":{"score":1}},{"text":"y","__metadata":{"score":0.456}}]`, Style{}, `
text  score
----  -----
x      1.00
y      0.46
`},
		"wide letters": {`[{"a":"日本","b":"x"},{"a":"é","b":"y"}]`, Style{}, `
a     b
----  -
日本  x
é     y
`},
		"escapes": {`[{"\u001b[2J":"\u001b]0;x\u0007","b":"x\ny"}]`, Style{}, `
\x1b[2J       b
------------  ----
\x1b]0;x\x07  x\ny
`},
		"a narrow terminal": {`[{"a":"abcdefghijklmnopqrst","b":"short","c":"abcdefghij"}]`, Style{Width: 24}, `
a        b      c
-------  -----  --------
abcdef…  short  abcdefg…
`},
		"too narrow": {`[{"a":"abcdefghijklmnopqrst","b":"abcdefg"}]`, Style{Width: 5}, `
a       b
------  ------
abcde…  abcde…
`},
		"marks": {`[{"a":null,"b":1}]`, Style{Width: 80, Color: true}, "\n" +
			"\x1b[1ma\x1b[22m  \x1b[1mb\x1b[22m\n\x1b[2m-\x1b[22m  \x1b[2m-\x1b[22m\n\x1b[2m—\x1b[22m  1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			if err := rows(t, test.rows).Write(&got, test.style); err != nil {
				t.Fatal(err)
			}
			if want := test.want[1:]; got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
		})
	}
	if _, err := Rows([]json.RawMessage{json.RawMessage(`7`)}); err == nil {
		t.Error("a number is a row")
	}
}
