package rules

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestTokenize(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"How many dogs?":                 "how|many|dogs|?",
		"over 1,200.50 kg":               "over|1,200.50|kg",
		"1,2 and 3":                      "1|,|2|and|3",
		"the 12th man's hat":             "the|12th|man|hat",
		"Málaga's café":                  "malaga|cafe",
		"named 'Blue Moon', not \"Red\"": "named|blue|moon|,|not|red",
		"don't":                          "don|t",
		"":                               "",
	}
	for text, want := range tests {
		var got []string
		for _, token := range tokenize(text) {
			got = append(got, token.lower)
		}
		if s := strings.Join(got, "|"); s != want {
			t.Errorf("tokenize(%q) = %s, want %s", text, s, want)
		}
	}
}

func TestTokenizeQuotes(t *testing.T) {
	t.Parallel()
	var quoted []string
	for _, token := range tokenize(`dogs' owners called 'Ann Lee' or “Bo”`) {
		if token.quote != 0 {
			quoted = append(quoted, token.text)
		}
	}
	if got := strings.Join(quoted, "|"); got != "Ann|Lee|Bo" {
		t.Errorf("quoted %s", got)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	tests := map[string]float64{"1,200": 1200, "3.5": 3.5, "12th": 12, "2 million": 2e6, "seven": 7}
	for text, want := range tests {
		if got, _, ok := numberAt(tokenize(text), 0); !ok || got != want {
			t.Errorf("numberAt(%q) = %v, %v", text, got, ok)
		}
	}
}

func FuzzTokenize(f *testing.F) {
	for _, text := range []string{"", "how many?", "'", "a'b'c", "1,2,3.4.5", "\xff\xfe", "“", "٣٤", "1st", "st", strings.Repeat("a ", 3000)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		tokens := tokenize(text)
		if len(tokens) > maxTokens {
			t.Fatalf("%d tokens", len(tokens))
		}
		for _, token := range tokens {
			if token.text == "" || utf8.ValidString(text) && !utf8.ValidString(token.lower) {
				t.Fatalf("token %+v of %q", token, text)
			}
		}
		normalize(text)
		nameWords(text)
		parts(text)
		follow("How many dogs are in Rome?", text)
	})
}
