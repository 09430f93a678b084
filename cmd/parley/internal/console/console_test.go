package console

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
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
	table, err := Rows(rows, nil)
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
			if diff := cmp.Diff(test.want[1:], got.String()); diff != "" {
				t.Errorf("- want, + got:\n%s", diff)
			}
		})
	}
	if _, err := Rows([]json.RawMessage{json.RawMessage(`7`)}, nil); err == nil {
		t.Error("a number is a row")
	}
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	const said = "# The **answer**\n\nThere are **4** orders of `snake_case`, *nearly* [all](https://x.example/a_b) \\*now\\*.\n" +
		"- one\x1b[31m\n- 2 * 3 &lt; 4 &#27;\n\n| city | n |\n|---|--:|\n| Ber\\|lin | 10 |\n| Rome | 2 |\nafter\n```sql\nSELECT **\n```\n"
	const plain = `The answer

There are 4 orders of snake_case, nearly all (https://x.example/a_b) *now*.
• one\x1b[31m
• 2 * 3 < 4 &#27;

city      n
-------  --
Ber|lin  10
Rome      2
after
    SELECT **
`
	for name, test := range map[string]struct {
		style Style
		want  string
	}{
		"a file":                     {Style{}, plain},
		"a terminal without colours": {Style{Width: 80}, plain},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			err := Markdown(&got, said, test.style)
			if diff := cmp.Diff(test.want, got.String()); err != nil || diff != "" {
				t.Errorf("%v, - want, + got:\n%s", err, diff)
			}
		})
	}
	var got strings.Builder
	if err := Markdown(&got, "**4** *of* `x`", Style{Width: 80, Color: true}); err != nil || got.String() != "\x1b[1m4\x1b[22m \x1b[3mof\x1b[23m \x1b[2mx\x1b[22m\n" {
		t.Errorf("%v: %q", err, got.String())
	}
}

func FuzzMarkdown(f *testing.F) {
	f.Add("# a\n|a|\n|-|\n|\x1b|\n```\n")
	f.Fuzz(func(t *testing.T, text string) {
		var got strings.Builder
		if err := Markdown(&got, text, Style{Width: 20}); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsFunc(got.String(), func(r rune) bool { return r != '\n' && r != '\t' && harmful(r) }) {
			t.Errorf("%q is shown as %q", text, got.String())
		}
	})
}

func TestLive(t *testing.T) {
	t.Parallel()
	for want, style := range map[string]Style{
		"":                               {},
		"\r\x1b[Kload\\n\\x1b[…\r\x1b[K": {Width: 13},
		"\r\x1b[K\x1b[2mload\\n\\x1b…\x1b[22m\r\x1b[K": {Width: 12, Color: true},
	} {
		var got strings.Builder
		live := Live{&got, style}
		live.Set("load\n\x1b[1;31mthings")
		live.Clear()
		if got.String() != want {
			t.Errorf("%+v: %q", style, got.String())
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = null.Close() }()
	if NewLive(null).Style.Terminal() {
		t.Error("the null device is taken for a terminal")
	}
}

func TestCSV(t *testing.T) {
	t.Parallel()
	for rows, want := range map[string]string{
		`{"a":null} {"a":""} {"a":"x"}`:       "a\n\"\"\n\"\"\nx\n",
		``:                                    "",
		`{"a":1,"b":"—"} {"b":"two\nlines"}`:  "a,b\n1,—\n,\"two\nlines\"\n",
		`{"a":"=1","__metadata":{"score":1}}`: "a\n=1\n",
	} {
		var list []json.RawMessage
		for _, row := range strings.Fields(rows) {
			list = append(list, json.RawMessage(row))
		}
		var out strings.Builder
		if err := (Result{Rows: List(list)}).WriteAs(&out, FormatCSV); err != nil || out.String() != want {
			t.Errorf("%s:\n%s%v", rows, out.String(), err)
		}
	}
}

// Keys that are no data are printed only if they are asked for.
func TestInternalKeys(t *testing.T) {
	t.Parallel()
	list := List([]json.RawMessage{json.RawMessage(`{"é\"":"<\u001b", "n": 1.50,"__metadata":{"score":0.5}}`), json.RawMessage(`{"__metadata":{"score":1}}`)})
	for _, test := range []struct {
		format   Format
		internal bool
		want     string
	}{
		{FormatJSON, false, `[{"é\"":"<\u001b","n":1.50},{}]` + "\n"},
		{FormatNDJSON, false, `{"é\"":"<\u001b","n":1.50}` + "\n{}\n"},
		{FormatNDJSON, true, `{"é\"":"<\u001b", "n": 1.50,"__metadata":{"score":0.5}}` + "\n" + `{"__metadata":{"score":1}}` + "\n"},
		{FormatCSV, false, "\"é\"\"\",n,score\n<\x1b,1.50,0.50\n,,1.00\n"},
		{FormatCSV, true, "\"é\"\"\",n,__metadata,score\n<\x1b,1.50,\"{\"\"score\"\":0.5}\",0.50\n,,\"{\"\"score\"\":1}\",1.00\n"},
	} {
		var out strings.Builder
		if err := (Result{Rows: list, Internal: test.internal}).WriteAs(&out, test.format); err != nil || out.String() != test.want {
			t.Errorf("%s: %s%v", test.format, out.String(), err)
		}
	}
}

// A table shows no digits beyond which sums of doubles are inexact; other numbers and files stay exact.
func TestRoundedNumbers(t *testing.T) {
	t.Parallel()
	table, err := Rows([]json.RawMessage{[]byte(`{"a":67174.65000000008,"b":"67174.65000000008","c":0.1,"d":12345678901234567,"e":1e-20}`)}, nil)
	if got := strings.Join(table.Rows[0], " "); err != nil || got != "67174.65 67174.65000000008 0.1 12345678901234567 1e-20" {
		t.Errorf("%s, %v", got, err)
	}
}
