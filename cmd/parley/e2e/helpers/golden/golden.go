// Package golden compares the output of a test with a reviewed file in the testdata folder
// beside the test. `go test -update` writes the files, for review as part of a change.
//
// [Scrub] replaces what differs between runs.
package golden

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write golden files instead of comparing with them")

// Assert reports an error with the differing lines when got is not the content of
// testdata/name. The name may have slashes. With the flag -update it writes the file
// instead.
func Assert(t testing.TB, name string, got []byte) {
	t.Helper()
	if err := check("testdata", name, got, *update); err != nil {
		t.Errorf("golden: %v", err)
	}
}

func check(folder, name string, got []byte, write bool) error {
	name = filepath.FromSlash(name)
	if !filepath.IsLocal(name) {
		return fmt.Errorf("file name %q leaves the folder %s", name, folder)
	}
	path := filepath.Join(folder, name)
	want, err := os.ReadFile(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return fmt.Errorf("read the expected content: %w", err)
	}
	same := !missing && bytes.Equal(got, want)
	switch {
	case same:
		return nil
	case write:
		return save(path, got)
	case missing:
		return fmt.Errorf("%s does not exist; run the test with -update to write it. Got:\n%s", path, got)
	default:
		return fmt.Errorf("%s differs (- expected, + got); if the change is meant, run the test with -update:\n%s",
			path, cmp.Diff(string(want), string(got)))
	}
}

func save(path string, content []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("make the folder of golden files: %w", err)
	}
	if err := os.WriteFile(path, content, 0o644); err != nil {
		return fmt.Errorf("write the golden file: %w", err)
	}
	return nil
}
