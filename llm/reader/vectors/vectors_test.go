package vectors

import (
	"slices"
	"testing"
)

func TestSimilarity(t *testing.T) {
	t.Parallel()
	v := Load()
	if near, far := v.Similarity("staff", "employees"), v.Similarity("staff", "banana"); near < 0.6 || far > 0.4 {
		t.Errorf("staff is like employees by %.2f and like banana by %.2f", near, far)
	}
	if got := v.Similarity("staff", "staff"); got < 0.999 || got > 1.001 {
		t.Errorf("a word is like itself by %.4f", got)
	}
	if got := v.Similarity("staff", "qqqqzz"); got != 0 {
		t.Errorf("an unknown word is similar by %.2f", got)
	}
	if near := v.Near("revenue", 5, 0.6); !slices.Contains(near, "revenues") && !slices.Contains(near, "sales") {
		t.Errorf("near revenue are %v", near)
	}
}

func TestNumber(t *testing.T) {
	t.Parallel()
	v := Load()
	for i := 0; i < v.Len(); i += 997 {
		if got := v.Number(v.word(i)); got != int32(i) {
			t.Errorf("%q has the number %d, not %d", v.word(i), got, i)
		}
	}
	for _, w := range []string{"", "\x00", "zzzzzzzz", "\xff\xff"} {
		if got := v.Number(w); got != -1 {
			t.Errorf("%q has the number %d", w, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(file[:64])
	f.Add([]byte("PRLV\x01\x00\x00\x00\x64\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := parse(data)
		if err == nil {
			v.Similarity("a", "b")
		}
	})
}
