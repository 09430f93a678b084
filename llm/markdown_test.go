package llm

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

var dataLinks = linksIn([]Step{{Rows: Rows{Rows: []json.RawMessage{
	json.RawMessage(`{"page":"https://good.example/a/b?c=1","site":"bare.example","mail":"eve@mail.example",
		"list":["see http://list.example:8080/x.","![](https://img.example/cat.png)"],"deep":{"u":"WWW.Upper.Example/x"}}`),
}}}})

func TestSanitize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, out string }{
		{"plain", "Ada has **9.5** and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |", "Ada has **9.5** and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
		{"a citation", "Ada [step 1]: yes [step 2].", "Ada [step 1]\\: yes [step 2]."},
		{"SQL", "`SELECT x[1]::INT FROM t WHERE a<>b AND a <5`", "`SELECT x[1]::INT FROM t WHERE a<>b AND a <5`"},

		{"a known link", "[a](https://good.example/other)", "[a](https://good.example/other)"},
		{"a known link with a title", `[a](https://good.example/a/b "title")`, "[a](https://good.example/a/b)"},
		{"a known link in angles", "[a](<https://good.example/x>)", "[a](https://good.example/x)"},
		{"a known host that stood bare", "[a](https://bare.example)", "[a](https://bare.example)"},
		{"a known host with a port", "[a](http://list.example:8080/y)", "[a](http://list.example:8080/y)"},
		{"a known host in capitals", "[a](https://GOOD.example/)", "[a](https://GOOD.example/)"},
		{"a known address", "See https://good.example/z, <https://good.example>.", "See https://good.example/z, <https://good.example>."},
		{"a known image", "![cat](https://img.example/cat.png)", "![cat](https://img.example/cat.png)"},
		{"parentheses in an address", "[a](https://good.example/x_(y))", "[a](https://good.example/x_(y))"},

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
		{"a reference for an image", "![a][r]\n\n[r]: https://good.example/new?d=1", "![a][r]\n\n[r]\\: https://good.example/new?d=1"},
		{"a reference in a quote", "> [r]:\n> <//evil.example>", "> [r]\\:\n> &lt;//evil.example>"},
		{"a reference without a scheme", "[r]: //evil.example/x\n[r]", "[r]\\: //evil.example/x\n[r]"},

		{"an autolink", "<https://evil.example/x>", "&lt;‹address removed›>"},
		{"a script autolink", "<javascript:alert(1)>", "&lt;javascriptalert(1)>"},
		{"a mail autolink", "<eve@evil.example>", "&lt;eve@evil.example>"},
		{"a bare address", "Go to https://evil.example/a?b=c. Now", "Go to ‹address removed›. Now"},
		{"a bare www", "Go to www.evil.example/a now", "Go to ‹address removed› now"},
		{"another scheme", "ftp://evil.example, x-app://evil", "‹address removed›, ‹address removed›"},
		{"escaped slashes", `https:\/\/evil.example`, "‹address removed›"},
		{"a zero width space", "https:\u200b//evil.example", "‹address removed›"},
		{"two in one", "https://good.example,https://evil.example", "‹address removed›"},
		{"next to a known link", "[a](https://good.example)https://evil.example", "[a](https://good.example)‹address removed›"},

		{"HTML", `<img src="https://evil.example/x"> <b>b</b> <!-- c --> <?x?>`, `&lt;img src="‹address removed›"> &lt;b>b&lt;/b> &lt;!-- c --> &lt;?x?>`},
		{"escaped HTML", "&lt;img src=x onerror=y>", "&lt;img src=x onerror=y>"},
		{"HTML with a known address", `<a href="https://good.example">x</a>`, `&lt;a href="https://good.example">x&lt;/a>`},
		{"HTML in a code span", "`<script>`", "`&lt;script>`"},
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
