package golden

import (
	"fmt"
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	t.Parallel()
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for _, tt := range []struct {
		name, want, got, diff string
	}{
		{"changed line in the middle", ten, strings.Replace(ten, "6\n", "six\n", 1), `
       ...
     3 3
     4 4
     5 5
-    6 6
+    6 six
     7 7
     8 8
     9 9
`},
		{"two places", ten, strings.NewReplacer("1\n2", "one\n2", "9\n", "").Replace(ten), `
-    1 1
+    1 one
     2 2
     3 3
     4 4
       ...
     6 6
     7 7
     8 8
-    9 9
    10 10
`},
		{"moved line stays one change", "a\nb\nc\n", "b\nc\na\n", `
-    1 a
     2 b
     3 c
+    3 a
`},
		{"from nothing", "", "a\n", `
+    1 a
`},
		{"to nothing", "a\n", "", `
-    1 a
`},
		{"newline at the end", "a\n", "a", `
-    1 a
+    1 a   (no newline at the end)
`},
		{"unseen characters", "a\nb\n", "a\r\nb \n", `
-    1 a
-    2 b
+    1 "a\r"
+    2 "b "
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := "\n" + diff(tt.want, tt.got); got != tt.diff {
				t.Errorf("diff is:%swant:%s", got, tt.diff)
			}
		})
	}
}

func TestDiffOfLongTextsStaysCheap(t *testing.T) {
	t.Parallel()
	var want, got strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&want, "old %d\n", i)
		fmt.Fprintf(&got, "new %d\n", i)
	}
	shown := strings.Count(diff("same\n"+want.String(), "same\n"+got.String()), "\n")
	if shown != 1+2*5000 {
		t.Errorf("diff has %d lines, want every line of both texts once", shown)
	}
}

// FuzzAlign checks that a diff holds both texts, whole and in order.
func FuzzAlign(f *testing.F) {
	f.Add("a\nb\n", "b\nc")
	f.Add("", "\n")
	f.Fuzz(func(t *testing.T, want, got string) {
		var left, right strings.Builder
		for _, e := range align(lines(want), lines(got)) {
			if e.op != '+' {
				left.WriteString(e.line)
			}
			if e.op != '-' {
				right.WriteString(e.line)
			}
		}
		if left.String() != want || right.String() != got {
			t.Errorf("the diff of %q and %q gives back %q and %q", want, got, left.String(), right.String())
		}
	})
}
