package link_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"parley/cmd/parley/e2e/helpers/catalogtest"
	"parley/llm/reader/link"
)

// FuzzTokenize splits any text into tokens and checks that their positions are in order
// and inside the question. Only the words for one comparison sign share a position.
func FuzzTokenize(f *testing.F) {
	for _, s := range []string{"How many orders cost 1,250.50?", "since 2024-03-15, 15.3.2024", "who didn't buy “Oak Table”", "❤️\xff\x00é", "100 000 km 12,50 3rd", "'’'s ''", "a\u0301\u200d٣", ">", "a>=1 b<\xe2\x89\xa5<c"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, question string) {
		start, end := 0, 0
		for _, token := range link.Tokenize(question) {
			sign := token.Start == start && token.End == end && strings.ContainsAny(question[start:end], "<>≤≥")
			if token.Start < end && !sign || token.End <= token.Start || token.End > len(question) {
				t.Fatalf("token %+v after %d", token, end)
			}
			if token.Lower == "" || strings.TrimSpace(token.Lower) == "" {
				t.Errorf("an empty token %+v", token)
			}
			if utf8.ValidString(question) && !utf8.ValidString(token.Text+token.Lower+token.Stem) {
				t.Errorf("token %+v is cut in a letter", token)
			}
			start, end = token.Start, token.End
		}
	})
}

// FuzzValues finds values in any text, and makes an input of them.
func FuzzValues(f *testing.F) {
	for _, s := range []string{
		"orders from hamburg over 12,50", `products called "Red Lamp" or 'x`, "more than 3 million in Q2 2024", "German customers in Hambrug since last 3 months",
		"between June and 31.12.2024, the letter w", "2024-13-45 99999999999999999999k 1e400 0x7f", "last 99999 days of the 9990s", "next 0 weeks of February 30 2023", "NaN inf -1 ½ ٣",
	} {
		f.Add(s)
	}
	cat := catalogtest.Shop()
	f.Fuzz(func(t *testing.T, question string) {
		tokens := link.Tokenize(question)
		values := link.Values(tokens, cat, now)
		for _, v := range values {
			if v.Start < 0 || v.End > len(tokens) || v.Start >= v.End || v.Text == "" {
				t.Errorf("value %+v of %d tokens", v, len(tokens))
			}
			if v.From > v.To && v.To != "" {
				t.Errorf("value %+v ends before it begins", v)
			}
		}
		if len(tokens) == 0 {
			return
		}
		in := link.New(tokens, cat, values, nil, nil)
		if n := len(in.Items); len(in.Relations) != n*n {
			t.Errorf("%d relations of %d items", len(in.Relations), n)
		}
		for i := range in.Items {
			if token, ok := in.Token(i); ok && in.ItemOf(token) != i {
				t.Errorf("item %d is the token %v, which is item %d", i, token, in.ItemOf(token))
			}
		}
	})
}
