package objects_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/internal/domain"
	"parley/storage/objects"
)

// TestFolderFiles replaces a file of a dataset: only the recorded bytes are read.
func TestFolderFiles(t *testing.T) {
	t.Parallel()
	folder, _ := newFolder(t, objects.FolderConfig{})
	files := objects.NewFolderFiles(folder)
	const good, other = "PAR1 good", "PAR1 evil"
	local := filepath.Join(t.TempDir(), "local")
	write := func(path, content string, at time.Time) {
		t.Helper()
		_ = os.Remove(path)
		if err := errors.Join(os.WriteFile(path, []byte(content), 0o600), os.Chtimes(path, at, at)); err != nil {
			t.Fatal(err)
		}
	}
	write(local, good, time.Now())
	sum := sha256.Sum256([]byte(good))
	all := []domain.DataFile{{Key: "datasets/1/a", Bytes: int64(len(good)), SHA256: hex.EncodeToString(sum[:])}}
	if err := files.Put(t.Context(), all[0].Key, local); err != nil {
		t.Fatal(err)
	}
	path, err := folder.Path(t.Context(), all[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	put := info.ModTime()
	check := func(name string, want error) {
		t.Helper()
		paths, release, err := files.Hold(t.Context(), all)
		if !errors.Is(err, want) || want == nil && (err != nil || paths[0] != path) {
			t.Errorf("%s: Hold: %v, %v", name, paths, err)
		}
		if err == nil {
			release()
		}
		if err := files.Check(t.Context(), all); !errors.Is(err, want) || want == nil && err != nil {
			t.Errorf("%s: Check: %v", name, err)
		}
		if _, _, ok := files.Ready(all); ok != (want == nil) {
			t.Errorf("%s: Ready: %v", name, ok)
		}
	}
	check("new", nil)
	write(path, other, put.Add(time.Second))
	if _, _, ok := files.Ready(all); ok {
		t.Error("a changed file is ready")
	}
	check("another file", domain.ErrNotFound)
	write(path, good, put.Add(2*time.Second))
	check("written again", nil)
	write(path, good+"!", put)
	check("larger", domain.ErrNotFound)
	write(path, good, put)
	check("restored", nil)
	if err := errors.Join(os.Rename(path, local), os.Symlink(local, path)); err != nil {
		t.Fatal(err)
	}
	check("a symbolic link", domain.ErrNotFound)

	// A process reads a file at the first use.
	write(path, other, put)
	files = objects.NewFolderFiles(folder)
	check("never seen", domain.ErrNotFound)
	if err := files.Verify(t.Context(), all); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("Verify: %v", err)
	}
	write(path, good, put)
	check("restored with its time", nil)
	write(path, good, put.Add(time.Second))
	check("right again", nil)
	// It was verified: it is not read again, unless it changes.
	write(path, other, put.Add(time.Second))
	if err := files.Verify(t.Context(), all); err != nil {
		t.Errorf("verified twice: %v", err)
	}
	check("not read again", nil)
	if err := files.Compare(t.Context(), all); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("Compare: %v", err)
	}
	check("compared", domain.ErrNotFound)
	write(path, good, put.Add(time.Second))
	if err := files.Compare(t.Context(), all); err != nil {
		t.Errorf("Compare of a right file: %v", err)
	}
}
