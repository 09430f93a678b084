package golden

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAssertAcceptsTheSameContent(t *testing.T) {
	t.Parallel()
	if *update {
		t.Skip("with -update anything is accepted")
	}
	var tb recorder
	Assert(&tb, "greeting.txt", []byte("hello\nworld\n"))
	if tb.failed != 0 {
		t.Error("the same content failed the test")
	}
	Assert(&tb, "greeting.txt", []byte("hello\nthere\n"))
	if tb.failed != 1 {
		t.Error("other content did not fail the test")
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "there"), []byte("a\nb\n"), 0o644); err != nil {
		t.Fatalf("write a golden file: %v", err)
	}
	for _, tt := range []struct {
		name, file, got string
		want            []string // parts of the error; none for success
	}{
		{name: "same", file: "there", got: "a\nb\n"},
		{name: "different", file: "there", got: "a\nc\n", want: []string{"there differs", "-update", `"a\nb\n"`, `"a\nc\n"`}},
		{name: "missing", file: "sub/absent", got: "new\n", want: []string{"does not exist", "-update", "new\n"}},
		{name: "empty and missing", file: "absent", want: []string{"does not exist"}},
		{name: "outside", file: "../x", want: []string{"leaves"}},
		{name: "absolute", file: "/etc/passwd", want: []string{"leaves"}},
		{name: "a folder", file: ".", want: []string{"read the expected content"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := check(folder, tt.file, []byte(tt.got), false)
			if len(tt.want) == 0 {
				if err != nil {
					t.Errorf("check: %v", err)
				}
				return
			}
			if err == nil {
				t.Fatalf("check accepted it, want an error with %q", tt.want)
			}
			for _, part := range tt.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q lacks %q", err, part)
				}
			}
		})
	}
}

func TestCheckWrites(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, content := range []string{"first\n", "second\n"} {
		if err := check(folder, "new/deep/file", []byte(content), true); err != nil {
			t.Fatalf("write: %v", err)
		}
		if err := check(folder, "new/deep/file", []byte(content), false); err != nil {
			t.Errorf("what was written is not what is compared with: %v", err)
		}
	}
	if err := check(folder, "../outside", nil, true); err == nil {
		t.Error("a file outside the folder was written")
	}
}

// recorder counts failures instead of failing.
type recorder struct {
	testing.TB
	failed int
}

func (r *recorder) Helper()               {}
func (r *recorder) Errorf(string, ...any) { r.failed++ }
