package locale_test

import (
	"context"
	"strings"
	"testing"

	"parley/internal/locale"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"":                                       "",
		"de":                                     "de",
		"de-CH, de;q=0.8":                        "de-CH",
		"en;q=0.5, fr-FR;q=0.9, *;q=0.1":         "fr-FR",
		"de_AT":                                  "de-AT",
		"zh-Hant-TW":                             "zh-Hant-TW",
		"de-u-nu-arab-x-secret":                  "de",
		"*":                                      "",
		"und":                                    "",
		"x-private":                              "",
		"de;q=much":                              "",
		"de;q=0":                                 "",
		"not a language":                         "",
		"\x00\xff":                               "",
		"'; DROP TABLE runs; --":                 "",
		"de" + strings.Repeat(",en;q=0.1", 1000): "",
	} {
		if got := locale.Parse(header); got != want {
			t.Errorf("%.40q: got %q, want %q", header, got, want)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		variables map[string]string
		want      string
	}{
		{nil, "en"},
		{map[string]string{"LANG": "de_DE.UTF-8"}, "de-DE"},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_NUMERIC": "fr_CH"}, "fr-CH"},
		{map[string]string{"LANG": "de_DE.UTF-8", "LC_NUMERIC": "fr_CH", "LC_ALL": "C.UTF-8"}, "en"},
		{map[string]string{"LC_ALL": "POSIX"}, "en"},
		{map[string]string{"LC_ALL": "de_DE@euro"}, "de-DE"},
		{map[string]string{"LC_ALL": "nonsense value"}, "en"},
	} {
		if got := locale.FromEnvironment(func(name string) string { return test.variables[name] }); got != test.want {
			t.Errorf("%v: got %q, want %q", test.variables, got, test.want)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tag, whole, negative, ungrouped string }{
		{"", "12,345,678", "-1,234.50", "2025.5"},
		{"en-GB", "12,345,678", "-1,234.50", "2025.5"},
		{"de", "12.345.678", "-1.234,50", "2025,5"},
		{"de-CH", "12’345’678", "-1’234.50", "2025.5"},
		{"fr", "12\u202f345\u202f678", "-1\u202f234,50", "2025,5"},
		{"sv-SE", "12\u202f345\u202f678", "-1\u202f234,50", "2025,5"},
		{"no-NO", "12\u202f345\u202f678", "-1\u202f234,50", "2025,5"},
		{"es", "12.345.678", "-1.234,50", "2025,5"},
		{"en-IN", "1,23,45,678", "-1,234.50", "2025.5"},
		{"hi", "1,23,45,678", "-1,234.50", "2025.5"},
		{"ja-JP", "12,345,678", "-1,234.50", "2025.5"},
		{"ar-EG", "12,345,678", "-1,234.50", "2025.5"},
		{"tlh", "12,345,678", "-1,234.50", "2025.5"},
		{"not a tag", "12,345,678", "-1,234.50", "2025.5"},
	} {
		n := locale.NumbersFor(locale.With(context.Background(), test.tag))
		if got := n.Int(12345678); got != test.whole {
			t.Errorf("%s: got %q, want %q", test.tag, got, test.whole)
		}
		if got := n.Format("-1234.50"); got != test.negative {
			t.Errorf("%s: got %q, want %q", test.tag, got, test.negative)
		}
		if got := n.Ungrouped("2025.5"); got != test.ungrouped {
			t.Errorf("%s: got %q, want %q", test.tag, got, test.ungrouped)
		}
		for _, text := range []string{"", "abc", "1e21", "1.", "-", "0", "999", "-999"} {
			if got := n.Format(text); got != text {
				t.Errorf("%s: %q became %q", test.tag, text, got)
			}
		}
	}
	if got := (locale.Numbers{}).Format("-1234.50"); got != "-1234.50" {
		t.Errorf("without a locale: %q", got)
	}
}

// FuzzParse checks that what is read of any header is a short tag, which is read again as
// itself.
func FuzzParse(f *testing.F) {
	for _, header := range []string{"de-CH,de;q=0.8", "*", "i-klingon", "zh-cmn-Hans-CN", "sr-Latn"} {
		f.Add(header)
	}
	f.Fuzz(func(t *testing.T, header string) {
		tag := locale.Parse(header)
		if len(tag) > 16 || locale.Parse(tag) != tag {
			t.Errorf("%q gave %q, and that %q", header, tag, locale.Parse(tag))
		}
		if locale.NumbersOf(tag).Format("1234.5") == "" {
			t.Error("a number was lost")
		}
	})
}

func TestMoney(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ tag, currency, want string }{
		{"", "€", "-€1,234.50"}, {"en", "CHF", "-CHF\u00a01,234.50"}, {"de", "€", "-1.234,50\u00a0€"}, {"de-CH", "CHF", "-CHF\u00a01’234.50"}, {"fr", "$", "-1\u202f234,50\u00a0$"},
		{"es-MX", "$", "-$1,234.50"}, {"sv", "kr", "-1\u202f234,50\u00a0kr"}, {"pt-BR", "R$", "-R$1.234,50"},
	} {
		if got := locale.NumbersOf(test.tag).Money("-1234.50", test.currency); got != test.want {
			t.Errorf("%s: %q, want %q", test.tag, got, test.want)
		}
	}
}
