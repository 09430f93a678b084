package pgtest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// archive is a file with what initdb makes, which is the same each time and takes ten times
// as long to make as to unpack. It is kept from one run of the tests to the next. Where no
// file can be kept, initdb runs each time.
type archive struct {
	path string
	file *os.File // nil where there is none yet
}

// The files with which the script says what it did.
const (
	packedFile  = "initdb.tar"
	damagedFile = "damaged"
)

// openArchive opens the archive for the programs in folder bin.
func openArchive(bin, locale string) (a archive) {
	program, err := os.Stat(filepath.Join(bin, "postgres"))
	cache, cacheErr := os.UserCacheDir()
	if errors.Join(err, cacheErr) != nil {
		return a
	}
	name := fmt.Sprintf("%s %s %d %d", bin, locale, program.Size(), program.ModTime().UnixNano())
	path := filepath.Join(cache, "parley-test", fmt.Sprintf("initdb-%x.tar", sha256.Sum256([]byte(name))))
	file, err := os.Open(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return a
	}
	return archive{path, file}
}

// mode tells the script what to do.
func (a archive) mode() string {
	switch {
	case a.file != nil:
		return "unpack"
	case a.path != "":
		return "pack"
	}
	return "none"
}

// close closes the archive. It keeps the one that the script has made in the cluster's folder,
// and removes a damaged one, so that the next cluster makes another.
func (a archive) close(dir string) {
	if a.file != nil {
		_ = a.file.Close()
		if _, err := os.Stat(filepath.Join(dir, damagedFile)); err == nil {
			_ = os.Remove(a.path)
		}
		return
	}
	packed := filepath.Join(dir, packedFile)
	_ = a.keep(packed) // the cluster runs without it
	_ = os.Remove(packed)
}

// keep copies a file to the archive's path, where it appears whole or not at all.
func (a archive) keep(packed string) (err error) {
	from, err := os.Open(packed)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if err := os.MkdirAll(filepath.Dir(a.path), 0o700); err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(a.path), "initdb-")
	if err != nil {
		return err
	}
	_, err = io.Copy(fresh, from)
	if err = errors.Join(err, fresh.Close()); err == nil {
		err = os.Rename(fresh.Name(), a.path)
	}
	if err != nil {
		_ = os.Remove(fresh.Name())
	}
	return err
}
