package llm

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

type decoded struct {
	Name string
	List []int
}

func needsName(d *decoded) error {
	if d.Name == "" {
		return errors.New("there is no name")
	}
	return nil
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ text, name, wrong string }{
		{`{"name":"a"}`, "a", ""},
		{"\ufeff \n{\"name\":\"a\"}\n", "a", ""},
		{"```json\n{\"name\":\"a\"}\n```", "a", ""},
		{`Well, {"name":"a","list":[1,2,],} it is.`, "a", ""},
		{"{\"name\":\"a\nb\tc\"}", "a\nb\tc", ""},
		{`{"list":[1]} or {"name":"b"}`, "b", ""},
		{`{x} {"name":"b"}`, "b", ""},
		{`{"name":"a { b"}`, "a { b", ""},
		{`{"name":"a \" } b"}`, "a \" } b", ""},
		{`{"wrapped":{"name":"a"}}`, "", "no name"},
		{`{ "oops": unquoted, "inner": {"name":"c"} }`, "c", ""},
		{``, "", "no JSON object"},
		{`name: a`, "", "no JSON object"},
		{`{"name":"a"`, "", "not closed"},
		{`{"name":"a`, "", "not closed"},
		{`{"name":5}`, "", "cannot be read"},
		{`{"name":"a",,}`, "", "cannot be read"},
		{`["name"]`, "", "no JSON object"},
		{strings.Repeat("{", 10000), "", "not closed"},
		{strings.Repeat("{}", 10000) + `{"name":"a"}`, "", "no name"},
	} {
		got, err := decode(test.text, needsName)
		if got.Name != test.name || (err == nil) != (test.wrong == "") || err != nil && !strings.Contains(err.Error(), test.wrong) {
			t.Errorf("decode(%s) = %+v, %v, want %q, %q", shorten(test.text, 80), got, err, test.name, test.wrong)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"name":"a"}`, "```json\n{\"name\":\"a\",}\n```", `{{{"name":"\"}`, "{\"name\":\"\x01\"}", `}{[]}`, `{"name":"a","list":[1,]}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := decode(text, needsName)
		if (err == nil) != (got.Name != "") {
			t.Errorf("decode(%q) = %+v, %v", text, got, err)
		}
		if err != nil && (len(err.Error()) > 400 || err.Error() == "") {
			t.Errorf("decode(%q): %d bytes of error", text, len(err.Error()))
		}
		// The checks of jobs accept any decoded output.
		if out, err := decode(text, checkPlan); err == nil {
			for _, step := range out.Steps {
				if !utf8.ValidString(step) || blank(step) || strings.ContainsRune(step, 0) {
					t.Errorf("step %q", step)
				}
			}
		}
		if out, err := decode(text, func(q *queryOutput) error { return q.check(nil) }); err == nil && len(out.SQL) > maxSQL {
			t.Error("long SQL")
		}
		fields := []Field{{Name: "name"}, {Name: "list"}}
		_, _ = decode(text, func(e *extractOutput) error { return e.check(fields) })
	})
}

func TestSplitText(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "short", strings.Repeat("word ", 100), strings.Repeat("x", 100), strings.Repeat("é", 99), "a\n\n" + strings.Repeat("line\n", 50), strings.Repeat("日本", 40)} {
		parts := splitText(text, 32)
		if joined := strings.Join(parts, ""); strings.TrimSpace(joined) != strings.TrimSpace(text) {
			t.Errorf("%q became %q", text, joined)
		}
		for _, part := range parts {
			if len(part) > 32 || !utf8.ValidString(part) {
				t.Errorf("part %q of %q", part, text)
			}
		}
	}
}
