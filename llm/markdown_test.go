package llm

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

var dataLinks = linksIn([]Step{{Rows: Rows{Rows: []json.RawMessage{
	json.RawMessage(`{"page":"https://good.example/a/b?c=1","site":"bare.example","mail":"eve@mail.example",
		"list":["see http://list.example:8080/x.","![](https://img.example/cat.png)"],"deep":{"u":"WWW.Upper.Example/x"},"wiki":"https://good.example/x_(y)"}`),
}}}})

func TestSanitize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, out string }{
		{"plain", "Ada has **9.5** and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |", "Ada has **9.5** and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
		{"a citation", "Ada [step 1]: yes [step 2].", "Ada [step 1]\\: yes [step 2]."},
		{"SQL", "`SELECT x[1]::INT FROM t WHERE a<>b AND a <5`", "`SELECT x[1]::INT FROM t WHERE a<>b AND a <5`"},

		{"a known link", "[a](https://good.example/a/b?c=1)", "[a](https://good.example/a/b?c=1)"},
		{"a known link with a title", `[a](https://good.example/a/b?c=1 "title")`, "[a](https://good.example/a/b?c=1)"},
		{"a known link in angles", "[a](<https://good.example/x_(y)/>)", "[a](https://good.example/x_(y)/)"},
		{"a known host that stood bare", "[a](https://bare.example)", "[a](https://bare.example)"},
		{"a known host with a port", "[a](http://list.example:8080/x)", "[a](http://list.example:8080/x)"},
		{"a known host in capitals", "[a](https://GOOD.example/)", "[a](https://GOOD.example/)"},
		{"a known address", "See https://good.example/a/b?c=1, <https://good.example>.", "See https://good.example/a/b?c=1, <https://good.example>."},
		{"a known image", "![cat](https://img.example/cat.png)", "![cat](https://img.example/cat.png)"},
		{"parentheses in an address", "[a](https://good.example/x_(y))", "[a](https://good.example/x_(y))"},

		{"a known host with more behind it", "[a](https://good.example/?q=secret), https://good.example/secret.", "a, ‹address removed›."},
		{"an unknown link", "[click](https://evil.example/?q=secret) here", "click here"},
		{"an unknown link with a title", `[click](https://evil.example "x) y") here`, "click here"},
		{"an unknown link, address on the next line", "[click](\nhttps://evil.example)", "click"},
		{"an unknown link in angles", "[click](<https://evil.example/a b>)", "click"},
		{"an unknown image", "![x](https://evil.example/p.png?d=1)", "x"},
		{"an image from a known host", "![x](https://good.example/p.png?d=secret)", "x"},
		{"an image in a link", "[![x](https://evil.example/p)](https://evil.example)", "x"},
		{"an image in a known link", "[![x](https://evil.example/p)](https://good.example)", "[x](https://good.example)"},
		{"nested brackets", "[a [b] c](https://evil.example)", "a [b] c"},
		{"a host of mail", "[a](https://mail.example)", "a"},
		{"a subdomain", "[a](https://good.example.evil.example)", "a"},
		{"a user", "[a](https://good.example@evil.example/)", "a"},
		{"a backslash", `[a](https://good.example\@evil.example/)`, "a"},
		{"no scheme", "[a](//evil.example/x)", "a"},
		{"a path", "[a](/api/v1/user/tokens)", "a"},
		{"nothing", "[a]()", "a"},
		{"javascript", "[a](javascript:alert(1))", "a"},
		{"javascript, hidden", "[a](java&#115;cript&colon;alert(1)) [b](JaVaScRiPt:x)", "a b"},
		{"data", "[a](data:text/html;base64,AAAA)", "a"},
		{"an entity in the address", "[a](&#104;ttps://evil.example)", "a"},
		{"entities of entities", "[a](&amp;#104;ttps://evil.example) https&amp;amp;#58;//evil.example", "a ‹address removed›"},
		{"an entity put together", "https&#5[](x)8;//evil.example", "‹address removed›"},
		{"an escaped bracket", `\[a](https://evil.example)`, `\[a]\(‹address removed›)`},
		{"no end", "[a](https://evil.example", `[a]\(‹address removed›`},
		{"empty text", "[b][](x)(//evil.example/)", "b"},
		{"empty image", "[b]![](x)(javascript:y)", "b"},

		{"a reference", "[a][r]\n\n[r]: https://evil.example/x", "[a][r]\n\n[r]\\: ‹address removed›"},
		{"a known reference", "[a][r]\n\n[r]: https://good.example/a/b?c=1", "[a][r]\n\n[r]: https://good.example/a/b?c=1"},
		{"a reference for an image", "![a][r]\n\n[r]: https://good.example/new?d=1", "![a][r]\n\n[r]\\: ‹address removed›"},
		{"a reference in a quote", "> [r]:\n> <//evil.example>", "> [r]\\:\n> < //evil.example>"},
		{"a reference without a scheme", "[r]: //evil.example/x\n[r]", "[r]\\: //evil.example/x\n[r]"},

		{"an autolink", "<https://evil.example/x>", "< ‹address removed›>"},
		{"a script autolink", "<javascript:alert(1)>", "< javascriptalert(1)>"},
		{"a mail autolink", "<eve@evil.example>", "< eve@evil.example>"},
		{"a bare address", "Go to https://evil.example/a?b=c. Now", "Go to ‹address removed›. Now"},
		{"a bare www", "Go to www.evil.example/a now", "Go to ‹address removed› now"},
		{"another scheme", "ftp://evil.example, x-app://evil", "‹address removed›, ‹address removed›"},
		{"escaped slashes", `https:\/\/evil.example`, "‹address removed›"},
		{"a zero width space", "https:\u200b//evil.example", "‹address removed›"},
		{"two in one", "https://good.example,https://evil.example", "‹address removed›"},
		{"next to a known link", "[a](https://good.example)https://evil.example", "[a](https://good.example)‹address removed›"},

		{"HTML", `<img src="https://evil.example/x"> <b>b</b> <!-- c --> <?x?>`, `< img src="‹address removed›"> < b>b< /b> < !-- c --> < ?x?>`},
		{"escaped HTML", "&lt;img src=x onerror=y> &amp;lt;b>", "< img src=x onerror=y> < b>"},
		{"HTML with a known address", `<a href="https://good.example">x</a>`, `< a href="https://good.example">x< /a>`},
		{"a comparison", "where a<b and c <= d", "where a< b and c <= d"},
		{"HTML in a code span", "`<script>`", "`< script>`"},
		{"control characters", "a\x00b\x1bc\u202ed", "abcd"},
	} {
		got := dataLinks.sanitize(test.in)
		if got != test.out {
			t.Errorf("%s: %q became\n%q, want\n%q", test.name, test.in, got, test.out)
		}
		if again := dataLinks.sanitize(got); again != got {
			t.Errorf("%s: sanitized again, %q became %q", test.name, got, again)
		}
	}
}

func TestSanitizeWithoutData(t *testing.T) {
	t.Parallel()
	if got := linksIn(nil).sanitize("[a](https://good.example) ![b](https://good.example)"); got != "a b" {
		t.Errorf("%q", got)
	}
}

func TestPlain(t *testing.T) {
	t.Parallel()
	if got := Plain("no column `[a](https://good.example)` in <b>"); got != "no column `a` in < b>" {
		t.Errorf("%q", got)
	}
}

func TestCheckQuery(t *testing.T) {
	t.Parallel()
	known := knownLinks(Task{Question: "How many visits to https://asked.example/page?"})
	for _, sql := range []string{
		"", "SELECT x[1]::INT, a[1:2], {'k': [1]} FROM t WHERE a <b AND a<>b", "SELECT 1 FROM t WHERE url LIKE 'https://%' OR url LIKE '%://%'",
		"SELECT 1 FROM t WHERE url LIKE '%other.example/%'", "SELECT 1 FROM t WHERE url = 'https://asked.example/page'",
		"SELECT 1 FROM t WHERE url LIKE 'http://asked.example%'",
	} {
		if err := known.checkQuery(sql); err != nil {
			t.Errorf("%s: %v", sql, err)
		}
	}
	for _, sql := range []string{
		"SELECT 1 -- ![x](//evil.example)", "SELECT '[r]: //evil.example' || a FROM t", "SELECT '<img src=//evil.example>'",
		"SELECT 'https://evil.example/?q=' || a FROM t", "SELECT 'www.evil.example'", "SELECT 1 /* &#104;ttps://evil.example */",
		"SELECT 'https://asked.example@evil.example/'", "SELECT 'https://asked.example:1@evil.example/'", "SELECT 'http://134744072/x'",
		"SELECT 'http://[::1]/'", "SELECT 'javascript:x'", "SELECT 'ftp://evil.example'", "SELECT 'https://evil。example'",
	} {
		if known.checkQuery(sql) == nil {
			t.Errorf("%s is let through", sql)
		}
	}
}

// held answers whether it holds addresses, as a lake would.
type held func(sql string) string

func (h held) Query(_ context.Context, sql string) (Rows, error) {
	return Rows{Rows: []json.RawMessage{json.RawMessage(h(sql))}}, nil
}

// An address that a query has put together is in a row, but not in the data.
func TestStoredLinks(t *testing.T) {
	t.Parallel()
	var asked []string
	task := AnswerTask{
		Task: Task{
			Datasets: []Dataset{
				{Name: "pages", Columns: []Column{{Name: "n", Type: "BIGINT"}, {Name: `a "b"`, Type: "VARCHAR"}, {Name: "c", Type: "VARCHAR[]"}}},
				{Name: "numbers", Columns: []Column{{Name: "n", Type: "BIGINT"}}},
				{Name: "others", Columns: []Column{{Name: "c", Type: "VARCHAR"}}},
			},
			Data: held(func(sql string) string {
				asked = append(asked, sql)
				return `{"a0":false,"a1":true,"a2":true,"a3":null}`
			}),
		},
		Steps: []Step{{Query: "SELECT * FROM Pages, numbers", Rows: Rows{Rows: []json.RawMessage{
			json.RawMessage(`{"u":"http://a.example/made","v":"http://a.example/there","w":"B.example","x":"http://c.example/"}`)}}}},
	}
	known := linksIn(task.Steps)
	text := known.sanitize("![x](http://a.example/made) [y](http://a.example/there/) http://b.example http://c.example/ http://d.example/")
	if want := "![x](http://a.example/made) [y](http://a.example/there/) http://b.example http://c.example/ ‹address removed›"; text != want {
		t.Errorf("%s, want %s", text, want)
	}
	if got, want := known.stored(t.Context(), task).sanitize(text), "x [y](http://a.example/there/) http://b.example ‹address removed› ‹address removed›"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := `SELECT bool_or(contains(texts, 'http://a.example/made')) AS a0, bool_or(contains(texts, 'http://a.example/there')) AS a1, ` +
		`bool_or(contains(lower(texts), 'b.example')) AS a2, bool_or(contains(lower(texts), 'c.example')) AS a3 ` +
		`FROM (SELECT concat_ws(' ', CAST("a ""b""" AS VARCHAR), CAST("c" AS VARCHAR)) AS texts FROM "pages")`
	if len(asked) != 1 || asked[0] != want {
		t.Errorf("asked %q, want %s", asked, want)
	}
	task.Data = nil
	if got := known.stored(t.Context(), task).sanitize(text); strings.Contains(got, "http") {
		t.Errorf("without data: %s", got)
	}
}

var (
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^\s)>]*)`)
	tagStart   = regexp.MustCompile(`<[a-zA-Z/!?][^>]*>?`)
)

func FuzzSanitize(f *testing.F) {
	for _, seed := range []string{
		"[a](https://evil.example)", "![a](https://img.example/cat.png)", "[b][](x)(//evil.example/)", "<img src=x>", "[r]: //evil.example",
		"[a](https://good.example)", "&amp;lt;b&gt;", `\[a](b)`, "[[a](b)](c)", "https://good.example/x", "[x]http://a.b/c)",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := dataLinks.sanitize(text)
		plain := escapes.ReplaceAllString(got, "__")
		for _, found := range inlineLink.FindAllStringSubmatch(plain, -1) {
			if !dataLinks.allows(found[1], false) && !strings.Contains(found[1], "(") {
				t.Errorf("%q became %q, with a link to %q", text, got, found[1])
			}
		}
		for _, tag := range tagStart.FindAllString(plain, -1) {
			if !dataLinks.allows(strings.Trim(tag, "<>"), false) {
				t.Errorf("%q became %q, with HTML", text, got)
			}
		}
		for _, address := range addressInText.FindAllString(got, -1) {
			if dataLinks.replaceAddress(address) != address {
				t.Errorf("%q became %q, with %q", text, got, address)
			}
		}
	})
}

var escapes = regexp.MustCompile(`(?s)\\.`)
