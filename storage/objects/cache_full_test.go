package objects

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/domain"
)

// TestCacheFullDisk has a disk without room for some files: the kernel's own,
// on which every write fails.
func TestCacheFullDisk(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip(err)
	}
	folder, err := OpenFolder(FolderConfig{Dir: t.TempDir(), Secret: bytes.Repeat([]byte("s"), 32), BaseURL: func(context.Context) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	files := make([]domain.DataFile, 4)
	for i := range files {
		path := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
			t.Fatal(err)
		}
		files[i] = domain.DataFile{Key: fmt.Sprint("datasets/1/", i), Bytes: 10}
		if err := folder.PutFile(t.Context(), files[i].Key, path); err != nil {
			t.Fatal(err)
		}
	}
	dir, full := t.TempDir(), 0
	cache, err := OpenCache(CacheConfig{Store: folder, Dir: dir, Size: 100, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() })
	cache.create = func(name string) (*os.File, error) {
		if full--; full >= 0 {
			return os.OpenFile("/dev/full", os.O_WRONLY, 0)
		}
		return createFile(name)
	}
	hold := func(i, times int) error {
		full = times
		_, release, err := cache.Hold(t.Context(), files[i:i+1])
		if err == nil {
			release()
		}
		return err
	}
	for i := range 2 {
		if err := hold(i, 0); err != nil {
			t.Fatal(err)
		}
	}
	// It helps that another one goes.
	if err := hold(2, 1); err != nil {
		t.Error(err)
	}
	if stats := cache.Stats(); stats.Bytes != 20 || stats.Evictions != 1 || stats.Failures != 1 {
		t.Errorf("%+v", stats)
	}
	// It does not help; and later there is room.
	if err := hold(3, 2); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "no room") {
		t.Errorf("on a full disk: %v", err)
	}
	if err := hold(3, 0); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(filepath.Join(dir, fetchPrefix+"*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
