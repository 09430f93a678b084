package pieces

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func vocabulary(t testing.TB) *Vocabulary {
	t.Helper()
	v, err := New([]string{"[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##afford", "##able", "price", "##s", "-", "2024", "##1", "a", "##ff"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestAppend(t *testing.T) {
	t.Parallel()
	v := vocabulary(t)
	for text, want := range map[string][]int32{
		"unaffordable":           {4, 5, 6},
		"Prices":                 {7, 8},
		"prïces":                 {7, 8},
		"price-price":            {7, 9, 7},
		"20241":                  {10, 11},
		"price unknown":          {7, Unknown},
		"价格":                     {Unknown},
		"":                       nil,
		" \t":                    nil,
		"un\xff":                 {4, Unknown},
		strings.Repeat("a", 101): {Unknown},
	} {
		if got := v.Append(nil, text, 9); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := v.Append([]int32{Begin}, "unaffordable", 2); !slices.Equal(got, []int32{Begin, 4, 5}) {
		t.Errorf("limited: %v", got)
	}
	if got := v.Append([]int32{Begin}, "price", -1); !slices.Equal(got, []int32{Begin}) {
		t.Errorf("without room: %v", got)
	}
	if _, err := New([]string{"[PAD]"}); err == nil {
		t.Error("a vocabulary without pieces is accepted")
	}
}

func FuzzAppend(f *testing.F) {
	v := vocabulary(f)
	for _, text := range []string{"unaffordable prices", "2024-a", "\xff\xfe", "É́", "a\u0301ff"} {
		f.Add(text, 5)
	}
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = min(max(limit, 0), 100)
		got := v.Append(nil, text, limit)
		if len(got) > limit {
			t.Errorf("%d pieces, at most %d are wanted", len(got), limit)
		}
		if runes := utf8.RuneCountInString(text); len(got) > 4*runes {
			t.Errorf("%d pieces of %d characters", len(got), runes)
		}
	})
}
