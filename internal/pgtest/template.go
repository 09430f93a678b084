package pgtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// template is an archive of what initdb makes, which is the same each time and takes ten
// times as long to make as to unpack. It is kept from one run of the tests to the next.
type template struct {
	path string
	// file is the archive; one that is yet to be made has another name meanwhile.
	file *os.File
	made bool
}

// openTemplate opens the archive for the programs in folder bin, or makes an empty file.
func openTemplate(bin, locale string) (*template, error) {
	program, err := os.Stat(filepath.Join(bin, "postgres"))
	if err != nil {
		return nil, err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "parley-test")
	name := fmt.Sprintf("%s %s %d %v", bin, locale, program.Size(), program.ModTime())
	t := &template{path: filepath.Join(dir, fmt.Sprintf("initdb-%x.tar", sha256.Sum256([]byte(name))))}
	if t.file, err = os.Open(t.path); err == nil {
		t.made = true
		return t, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	t.file, err = os.CreateTemp(dir, "initdb-")
	return t, err
}

// mode tells the script what to do with the archive.
func (t *template) mode() string {
	if t.made {
		return "unpack"
	}
	return "pack"
}

// close closes the archive. One that was made appears whole or not at all: another test
// process may be at the same.
func (t *template) close(whole bool) error {
	err := t.file.Close()
	switch {
	case t.made:
		return err
	case whole:
		return errors.Join(err, os.Rename(t.file.Name(), t.path))
	}
	return errors.Join(err, os.Remove(t.file.Name()))
}
