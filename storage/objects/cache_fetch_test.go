package objects

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
)

// The hash of a changed file is compared to its end, though its caller has ended.
func TestHashWithoutCaller(t *testing.T) {
	t.Parallel()
	folder, err := OpenFolder(FolderConfig{Dir: t.TempDir(), Secret: bytes.Repeat([]byte("s"), 32), BaseURL: func(context.Context) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	files := NewFolderFiles(folder)
	local := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(local, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []domain.DataFile{{Key: "datasets/1/file", Bytes: 10}}
	if err := files.Put(t.Context(), all[0].Key, local); err != nil {
		t.Fatal(err)
	}
	path, err := folder.Path(t.Context(), all[0].Key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	for range maxHashes {
		files.hashing <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { _, err := files.hash(ctx, all[0], false); ended <- err }()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the caller has ended: %v", err)
	}
	<-files.hashing
	waittest.Until(t, "the file is ready", func() bool {
		_, _, ok := files.Ready(all)
		return ok
	})
}

// A large file lets those that wait be read, after each step.
func TestHashSharesSlots(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		slots := make(chan struct{}, 1)
		slots <- struct{}{}
		waited := false
		go func() {
			slots <- struct{}{}
			waited = true
			<-slots
		}()
		synctest.Wait()
		large := &slotReader{Reader: bytes.NewReader([]byte("abc")), slots: slots, left: 2}
		step := make([]byte, 2)
		if n, err := large.Read(step); n != 2 || err != nil || waited {
			t.Errorf("the first step: %d, %v, %v", n, err, waited)
		}
		if n, err := large.Read(step); n != 1 || err != nil || !waited || len(slots) != 1 {
			t.Errorf("the second step: %d, %v, %v", n, err, waited)
		}
	})
}

// TestCacheFetchError has a file that is fetched, damaged and not fetched again while a
// caller still waits for the first fetch: that caller gets the result of its own fetch.
func TestCacheFetchError(t *testing.T) {
	t.Parallel()
	folder, err := OpenFolder(FolderConfig{Dir: t.TempDir(), Secret: bytes.Repeat([]byte("s"), 32), BaseURL: func(context.Context) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = folder.Close() })
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("0123456789"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := domain.DataFile{Key: "datasets/1/file", Bytes: 10}
	if err := folder.PutFile(t.Context(), file.Key, path); err != nil {
		t.Fatal(err)
	}
	cache, err := OpenCache(CacheConfig{Store: folder, Dir: t.TempDir(), Size: 100, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cache.Close() })

	first, _, err := cache.tryTake([]domain.DataFile{file}, false)
	if err != nil {
		t.Fatal(err)
	}
	cache.fetches.Wait()
	damaged := cache.path(file.Key)
	if err := os.Remove(damaged); err != nil { // it is read-only
		t.Fatal(err)
	}
	if err := os.WriteFile(damaged, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := folder.Delete(t.Context(), file.Key); err != nil {
		t.Fatal(err)
	}
	if _, _, err := cache.Hold(t.Context(), []domain.DataFile{file}); err == nil {
		t.Fatal("a file was held that is neither cached nor stored")
	}
	if err := waitFetched(t.Context(), first); err != nil {
		t.Fatalf("the first fetch succeeded, but its caller got: %v", err)
	}
}
