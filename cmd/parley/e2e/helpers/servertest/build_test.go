package servertest

import (
	"os"
	"path/filepath"
	"testing"
)

func TestBuildFolder(t *testing.T) {
	t.Parallel()
	dir, program := t.TempDir(), Program{Name: "server"}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatalf("open the folder to all: %v", err)
	}
	if path, err := program.in(dir); err == nil {
		t.Errorf("a program that anybody may have put there was taken: %s", path)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatalf("close the folder: %v", err)
	}
	want := filepath.Join(dir, "server")
	if err := os.WriteFile(want, nil, 0o700); err != nil {
		t.Fatalf("write a program: %v", err)
	}
	if got, err := program.in(dir); got != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestBuildSteps(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	program := Program{Name: "server", Steps: [][]string{{"mkdir", "new"}, {"mv", "new", "server"}}}
	for range 2 { // the second time it is there
		if got, err := program.in(dir); got != filepath.Join(dir, "server") || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	}
	program = Program{Name: "other", Steps: [][]string{{"false"}, {"mkdir", "other"}}}
	if got, err := program.in(dir); err == nil {
		t.Errorf("a program whose first step fails is at %q", got)
	}
}
