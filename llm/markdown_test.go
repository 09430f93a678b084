package llm

import (
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var dataLinks = linksIn([]Step{{Rows: Rows{Rows: []json.RawMessage{
	json.RawMessage(`{"page":"https://good.example/a/b?c=1","site":"bare.example","mail":"eve@mail.example",
		"list":["see http://list.example:8080/x. https://list.example/p)q","![](https://img.example/cat.png)"],"deep":{"u":"WWW.Upper.Example/x"},"wiki":"https://good.example/x_(y)"}`),
}}}})

func TestSanitize(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, in, out string }{
		{"plain", "Ada has **9.5** and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |", "Ada has **9.5** and `a < b`.\n\n| a | b |\n|---|---|\n| 1 | 2 |"},
		{"a citation", "Ada [step 1]: yes [step 2].", "Ada [step 1]\\: yes [step 2]."},
		{"SQL", "`SELECT x[1]::INT FROM t WHERE a<>b AND a <5`", "`SELECT x[1]::INT FROM t WHERE a<>b AND a <5`"},

		{"a known link", "[a](https://good.example/a/b?c=1)", "[a](https://good.example/a/b?c=1)"},
		{"a known link with a title", `[a](https://good.example/a/b?c=1 "title")`, "[a](https://good.example/a/b?c=1)"},
		{"a known link in angles", "[a](<https://good.example/x_(y)>)", "[a](https://good.example/x_(y))"},
		{"a known host with a port", "[a](http://list.example:8080/x)", "[a](http://list.example:8080/x)"},
		{"a known address", "See https://good.example/a/b?c=1, <https://good.example/a/b?c=1>.", "See https://good.example/a/b?c=1, <https://good.example/a/b?c=1>."},
		{"a known address in parentheses", "(see https://good.example/x_(y)).", "(see https://good.example/x_(y))."},
		{"a known address as the text of a link", "[https://good.example/x_(y)](https://good.example/x_(y))", "[https://good.example/x_(y)](https://good.example/x_(y))"},
		{"a known address in bold", "**https://good.example/x_(y)**", "**https://good.example/x_(y)**"},
		{"a known address in code", "`https://good.example/x_(y)`", "`https://good.example/x_(y) `"},
		{"parentheses in an address", "[a](https://good.example/x_(y))", "[a](https://good.example/x_(y))"},

		{"a known host with more behind it", "[a](https://good.example/?q=secret), https://good.example/secret.", "a, ‹address removed›."},
		{"an unknown link", "[click](https://evil.example/?q=secret) here", "click here"},
		{"an unknown link with a title", `[click](https://evil.example "x) y") here`, "click here"},
		{"an unknown link, address on the next line", "[click](\nhttps://evil.example)", "click"},
		{"an unknown link in angles", "[click](<https://evil.example/a b>)", "click"},
		{"an unknown image", "![x](https://evil.example/p.png?d=1)", "x"},
		{"an image from a known host", "![x](https://good.example/p.png?d=secret)", "x"},
		{"an image in a link", "[![x](https://evil.example/p)](https://evil.example)", "x"},
		{"an image in a known link", "[![x](https://evil.example/p)](https://good.example/a/b?c=1)", "[x](https://good.example/a/b?c=1)"},
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
		{"entities of entities", "[a](&amp;#104;ttps://evil.example) https&amp;amp;#58;//evil.example", "a https:‹address removed›"},
		{"an entity put together", "https&#5[](x)8;//evil.example", "https:‹address removed›"},
		{"an escaped bracket", `\[a](https://evil.example)`, `\[a]\(‹address removed›)`},
		{"no end", "[a](https://evil.example", `[a]\(‹address removed›`},
		{"empty text", "[b][](x)(//evil.example/)", `[b]\(‹address removed›)`},
		{"empty image", "[b]![](x)(javascript:y)", "b"},

		{"a reference", "[a][r]\n\n[r]: https://evil.example/x", "[a][r]\n\n[r]\\: ‹address removed›"},
		{"a known reference", "[a][r]\n\n[r]: https://good.example/a/b?c=1", "[a][r]\n\n[r]\\: https://good.example/a/b?c=1"},
		{"a reference for an image", "![a][r]\n\n[r]: https://good.example/new?d=1", "! [a][r]\n\n[r]\\: ‹address removed›"},
		{"a reference in a quote", "> [r]:\n> <//evil.example>", "> [r]\\:\n> < ‹address removed›>"},
		{"a reference without a scheme", "[r]: //evil.example/x\n[r]", "[r]\\: ‹address removed›\n[r]"},

		{"an autolink", "<https://evil.example/x>", "< ‹address removed›>"},
		{"a script autolink", "<javascript:alert(1)>", "< javascriptalert(1)>"},
		{"a mail autolink", "<eve@evil.example>", "< eve@evil.example>"},
		{"a bare address", "Go to https://evil.example/a?b=c. Now", "Go to ‹address removed›. Now"},
		{"backslashes for slashes", `Go to \\evil.example\SECRET and https:\\evil.example\SECRET and evil.example／SECRET and evil.example⁄SECRET now`, `Go to \\‹address removed› and https:\\‹address removed› and ‹address removed› and ‹address removed› now`},
		{"an escaped name", `by customers.first\_name`, `by customers.first\_name`},
		{"a bare www", "Go to www.evil.example/a now", "Go to ‹address removed› now"},
		{"another scheme", "ftp://evil.example, x-app://evil", "‹address removed›, ‹address removed›"},
		{"escaped slashes", `https:\/\/evil.example`, "‹address removed›"},
		{"an escaped colon", `https\://134744072/x mailto\:eve@evil.example`, "‹address removed› ‹address removed›"},
		{"a zero width space", "https:\u200b//evil.example", "‹address removed›"},
		{"two in one", "https://good.example,https://evil.example", "‹address removed›"},
		{"next to a known link", "[a](https://good.example/a/b?c=1)https://evil.example", "[a](https://good.example/a/b?c=1)‹address removed›"},

		{"HTML", `<img src="https://evil.example/x"> <b>b</b> <!-- c --> <?x?>`, `< img src="‹address removed›"> < b>b< /b> < !-- c --> < ?x?>`},
		{"escaped HTML", "&lt;img src=x onerror=y> &amp;lt;b>", "< img src=x onerror=y> < b>"},
		{"HTML with a known address", `<a href="https://good.example">x</a>`, `< a href="‹address removed›< /a>`},
		{"a comparison", "where a<b and c <= d", "where a< b and c <= d"},
		{"HTML in a code span", "`<script>`", "`< script>`"},
		{"a known image", "![cat](https://img.example/cat.png)", "cat"},
		{"an image of a reference", "![r] ![a][r] ![](x)", "! [r] ! [a][r] "},
		{"an image put together", "!&amp;#8203;[https://good.example/x_(y)](https://good.example/a/b?c=1)secret", "‹address removed›"},
		{"an image in a wiki", "![[https://img.example/cat.png]]", "! [[https://img.example/cat.png ]]"},
		{"HTML with a known image", `<img src="https://img.example/cat.png"> <svg><image href='https://img.example/cat.png'/></svg>`,
			`< img src="https://img.example/cat.png "> < svg>< image href='‹address removed›>< /svg>`},
		{"a beginning", "[a](https://good.example/a) [b](https://good.example/a/b?c=) https://good.example/ <https://good.example>", "a b ‹address removed› < ‹address removed›>"},
		{"a known address with more behind it", "https://good.example/a/b?c=12 https://good.example/a/b?c=1(2) https://good.example/a/b?c=1[2] https://good.example/a/b?c=1|2",
			"‹address removed› ‹address removed›) ‹address removed›] ‹address removed›"},
		{"marks that programs take for a part", "https://img.example/cat.png]]]] https://img.example/cat.png!!!!!", "https://img.example/cat.png ]]]] https://img.example/cat.png !!!!!"},
		{"a slash more", "[a](https://img.example/cat.png/) [b](http://list.example:8080/x/)", "a b"},
		{"capitals", "[a](https://GOOD.example/a/b?c=1) [b](HTTPS://good.example/a/b?c=1)", "a b"},
		{"a percent sign", "[a](https://good.example/a%2Fb?c=1) [b](https://good.example/%61/b?c=1)", "a b"},
		{"another fragment", "[a](https://good.example/a/b?c=1#secret)", "a"},
		{"punycode", "[a](https://xn--god-1na.example/a/b?c=1) https://xn--god-1na.example", "a ‹address removed›"},
		{"a letter that looks alike", "[a](https://gооd.example/a/b?c=1) https://gооd.example/a/b?c=1 ｈttps://evil.example", "a ‹address removed› ｈ‹address removed›"},
		{"a user in text", "https://good.example@evil.example/ https://a:b@good.example/a/b?c=1", "‹address removed› ‹address removed›"},
		{"no scheme in text", "See //evil.example/x and evil.com/x?y and evil.com:80/z.", "See ‹address removed› and ‹address removed› and ‹address removed›."},
		{"any top-level domain", "evil.click/SECRET, evil.link/?q=SECRET evil.live/x evil.рф/x evil.भारत/x evil.xn--p1ai/x a.b.museum#x i❤️.ws/x.",
			"‹address removed›, ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed›."},
		{"numbers for a host", "1.2.3.4/secret 1.2.3.4:8080 1.2.3.4?x [2001:db8::1]/x [::1]:80/x １.２.３.４/x",
			"‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed›"},
		{"escapes in a host", `evil.com\/x evil\.com\?x evil.com\:80 evil.com:\/x 1\.2.3.4\/x`, "‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed›"},
		{"other dots in a host", "evil．com/x evil。com/x evil｡click/x evil․com/x ｅｖｉｌ．ｃｏｍ/x 例子。com/x 1。2。3。4/x //evil。com",
			"‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed› ‹address removed›"},
		{"a port or a final dot", "evil.click:8080 evil.click:80?x evil.click:/x evil.com./x", "‹address removed› ‹address removed› ‹address removed› ‹address removed›"},
		{"marks for a path", "evil.com/!!!!.!? evil.click/**SECRET**", "‹address removed›!!!!.!? ‹address removed›**"},
		{"mail in text", "mailto:eve@evil.example?body=secret", "‹address removed›"},
		{"no addresses", "5//2, and/or, a.b.c, 1.5/2, e.g./i.e., eve@mail.example", "5//2, and/or, a.b.c, 1.5/2, e.g./i.e., eve@mail.example"},
		{"an address over two lines", "[a](https://good.example/a/\nb?c=1) [a\nb](https://good.example/a/b?c=1)", "[a]\\(‹address removed›\nb?c=1) [a\nb](https://good.example/a/b?c=1)"},
		{"nested brackets with a known link", "[a [b](https://good.example/a/b?c=1) c](https://evil.example)", "a [b](https://good.example/a/b?c=1) c"},
		{"an unmatched parenthesis", "[a](<https://list.example/p)q>)", "aq)"},
		{"private characters", "[a](\U000F0000) <\U000F0000> &#983040;", "a <> "},
		{"emoji that are joined", "👩\u200d👩\u200d👧\u200d👦 👨🏽\u200d🚀 ❤️\u200d🔥 a\u200db👩\u200d.", "👩\u200d👩\u200d👧\u200d👦 👨🏽\u200d🚀 ❤️\u200d🔥 ab👩."},
		{"emoji in a host", "i👩\u200d👩.ws/secret", "i👩‹address removed›"},
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
		`SELECT 'https\://134744072/x'`,
	} {
		if known.checkQuery(sql) == nil {
			t.Errorf("%s is let through", sql)
		}
	}
}

// Prose with dots, slashes and colons is kept as it is.
func TestSanitizeProse(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"and/or, km/h, 24/7, w/o, €/kg, a.m./p.m., e.g./i.e., U.S./U.K., etc./usw., Ph.D./M.D.", "3.5/5, 1.5:2, 9.75/10.00, 1,234.50/2, 10.000.000/2",
		"v1.2/v1.3, 1.2.3/1.2.4, §1.2.3.4", "2025-01-03/2025-02-11, 1/2/2025, 03.01.2025/11.02.2025, 12.30/13.45, at 12:30",
		"In file.csv: 3 rows. Is it file.csv? (Or is it file.csv?) “file.csv”/“other”, evil.click, 1.2.3.4, C:\\x.txt",
		"**Is it orders.total?** _orders.total:_ `orders.total`: 5 orders.total/", "sum(o.total)/count(*), x[1:2]/3, x::INT/2, {'a.b':1}",
		"共有12个订单。开放/关闭的订单。", "注文は12件です。東京/大阪です。データ/表．東京/大阪。",
	} {
		if got := dataLinks.sanitize(text); got != text {
			t.Errorf("%q became\n%q", text, got)
		}
	}
}

// A text with entities nested too deep has no links either.
func TestSanitizeDeepEntities(t *testing.T) {
	t.Parallel()
	deep := "&" + strings.Repeat("amp;", 20) + "#46; "
	for _, text := range []string{"https:/&/evil.com/SECRET", "https:/]/evil.com", "evil.c[om/SECRET", "evil.click&/SECRET", "evil&" + strings.Repeat("amp;", 9) + "#46;com/x", "ww&w.evil.com"} {
		got := dataLinks.sanitize(deep + text)
		if shown := shownText(got); anyAddress.MatchString(shown) {
			t.Errorf("%q became %q, shown as %q", text, got, shown)
		}
	}
}

// A few of many addresses of the data are kept, so that they cannot encode data.
func TestSanitizeFewLinks(t *testing.T) {
	t.Parallel()
	known, text, want := newLinks(), "", ""
	for _, host := range []string{"a", "b", "c", "d"} {
		for i := range 5 {
			address := fmt.Sprintf("https://%s.example/%d", host, i)
			known.addText(address)
			text += fmt.Sprintf("[x](%s) <%s> %s\n", address, address, address)
			if i < 3 && host != "d" || i < 1 {
				want += fmt.Sprintf("[x](%s) <%s> %s\n", address, address, address)
			} else {
				want += "x < ‹address removed›> ‹address removed›\n"
			}
		}
	}
	if got := known.sanitize(text); got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

var (
	inlineLink = regexp.MustCompile(`\]\(\s*<?([^\s)>]*)`)
	tagStart   = regexp.MustCompile(`<[a-zA-Z/!?][^>]*>?`)
	// anyAddress matches addresses in a text as it is shown.
	anyAddress = regexp.MustCompile(`(?i)[a-z]://|\bwww\.|(?:[a-z0-9][.．。][a-z]{2,}|[0-9](?:\.[0-9]{1,3}){3})(?::[0-9]+)?[/?#][a-z0-9]`)
	escaped    = regexp.MustCompile("\\\\([!-/:-@\\[-`{-~])")
)

// shownText returns Markdown as a reader sees it, its escapes and entities replaced.
func shownText(markdown string) string {
	return entity.ReplaceAllStringFunc(escaped.ReplaceAllString(markdown, "$1"), html.UnescapeString)
}

func FuzzSanitize(f *testing.F) {
	for _, seed := range []string{
		"[a](https://evil.example)", "![a](https://img.example/cat.png)", "[b][](x)(//evil.example/)", "<img src=x>", "[r]: //evil.example",
		"[a](https://good.example)", "&amp;lt;b&gt;", `\[a](b)`, "[[a](b)](c)", "https://good.example/x", "[x]http://a.b/c)",
		"evil.click/SECRET", `evil\.com\/x`, "evil。com/x", "evil&#46;com/x", "1.2.3.4:80/x", "[::1]:80/x", "e.g./i.e. 3.5/5", "&amp;amp;amp;amp;amp;amp;amp;amp;#46;",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, kept := dataLinks.sanitizeLinks(text)
		for _, address := range kept {
			if !dataLinks.addresses[address] {
				t.Errorf("%q became %q, with %q", text, got, address)
			}
		}
		plain := escapes.ReplaceAllString(got, "__")
		for _, found := range inlineLink.FindAllStringSubmatch(plain, -1) {
			if !slices.Contains(kept, found[1]) && !strings.Contains(found[1], "(") {
				t.Errorf("%q became %q, with a link to %q", text, got, found[1])
			}
		}
		for _, tag := range tagStart.FindAllString(plain, -1) {
			if !slices.Contains(kept, strings.Trim(tag, "<>")) {
				t.Errorf("%q became %q, with HTML", text, got)
			}
		}
		if strings.Contains(got, "![") {
			t.Errorf("%q became %q, with an image", text, got)
		}
		shown := shownText(got)
		for _, address := range kept {
			shown = strings.ReplaceAll(shown, shownText(address), " ")
		}
		if found := anyAddress.FindString(shown); found != "" {
			t.Errorf("%q became %q, with the address %q", text, got, found)
		}
		if again := dataLinks.sanitize(got); again != got && len(kept) > 0 {
			t.Errorf("%q became %q, and then %q", text, got, again)
		}
	})
}

var escapes = regexp.MustCompile(`(?s)\\.`)
