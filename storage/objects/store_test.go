package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"parley/internal/domain"
	"parley/storage/objects"
)

func TestKeys(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		for _, key := range []string{
			"plain", "with blanks in it.csv", "deep/er/and deeper", "Ünïcode/日本語/🦆.parquet", "…", "..hidden/...", "a+b&c=d?e#f%20g",
			"quote\"'`$;", strings.Repeat("k", 250) + "/" + strings.Repeat("ä", 100),
		} {
			s := sendAll(t, h, key, 20)
			if err := h.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
				t.Errorf("complete %q: %v", key, err)
				continue
			}
			if !bytes.Equal(read(t, h, key), s.content) {
				t.Errorf("%q has other bytes than were sent", key)
			}
			if err := h.Delete(t.Context(), key); err != nil {
				t.Errorf("delete %q: %v", key, err)
			}
			wantMissing(t, h, key)
		}
		existing := file(t, []byte("x"))
		for _, key := range []string{
			"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../b", "a/./b", "a/..", `a\b`, "a\x00b", "a\nb", "a\x7f", "\xff",
			strings.Repeat("k", 256), strings.Repeat("k/", 400),
		} {
			_, err := h.Begin(t.Context(), key)
			wantKind(t, err, domain.ErrInvalid)
			err = h.PutFile(t.Context(), key, existing)
			wantKind(t, err, domain.ErrInvalid)
			_, _, err = h.Open(t.Context(), key)
			wantKind(t, err, domain.ErrInvalid)
			_, _, err = h.ReadStart(t.Context(), key, 4)
			wantKind(t, err, domain.ErrInvalid)
			wantKind(t, objects.Fetch(t.Context(), h, key, filepath.Join(t.TempDir(), "f")), domain.ErrInvalid)
			wantKind(t, h.Delete(t.Context(), key), domain.ErrInvalid)
			err = h.Complete(t.Context(), objects.Upload{Key: key, ID: "x"}, objects.Plan{Size: 1, PartSize: 1}, nil)
			wantKind(t, err, domain.ErrInvalid)
			if t.Failed() {
				t.Fatalf("at key %q", key)
			}
		}
	})
}

func TestPutOpenFetchDelete(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		for _, size := range []int{0, 1, 100_000, 40<<20 + 1} {
			content := random(size)
			key := fmt.Sprintf("put/%d", size)
			put(t, h, key, content)
			if !bytes.Equal(read(t, h, key), content) {
				t.Errorf("%d bytes came back as others", size)
			}
			if start, n, err := h.ReadStart(t.Context(), key, 4); err != nil || n != int64(size) || !bytes.Equal(start, content[:min(4, size)]) {
				t.Errorf("%d bytes start with %q, %d bytes, %v", size, start, n, err)
			}
			to := file(t, []byte("what was there before"))
			if err := objects.Fetch(t.Context(), h, key, to); err != nil {
				t.Fatalf("fetch %d bytes: %v", size, err)
			}
			if got, err := os.ReadFile(to); err != nil || !bytes.Equal(got, content) {
				t.Errorf("%d bytes were fetched as others (%v)", size, err)
			}
			for range 2 {
				if err := h.Delete(t.Context(), key); err != nil {
					t.Fatalf("delete: %v", err)
				}
			}
			wantMissing(t, h, key)
		}
	})
}

func TestFetchOfNothing(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		to := file(t, []byte("before"))
		wantKind(t, objects.Fetch(t.Context(), h, "nothing/here", to), domain.ErrNotFound)
		put(t, h, "some", random(1<<20))
		if err := objects.Fetch(t.Context(), h, "some", filepath.Join(to, "not a folder")); err == nil {
			t.Error("an object was fetched into a file")
		}
		if got, err := os.ReadFile(to); err != nil || string(got) != "before" {
			t.Errorf("the file is now %q (%v)", got, err)
		}
		wantOnly(t, filepath.Dir(to), "file")
	})
}

func wantOnly(t *testing.T, dir string, names ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatalf("list the folder: %v", err)
	}
	var got []string
	for _, entry := range entries {
		got = append(got, entry.Name())
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the folder holds %q, want %q", got, names)
	}
}

func TestPutFileOfNothing(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		for _, path := range []string{filepath.Join(t.TempDir(), "nothing"), t.TempDir()} {
			err := h.PutFile(t.Context(), "key", path)
			if err == nil || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("putting %s: got %v, want a fault of the caller's", path, err)
			}
		}
		wantMissing(t, h, "key")
	})
}

func TestPutFileIsAtomic(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		contents := [][]byte{bytes.Repeat([]byte("a"), 300_000), bytes.Repeat([]byte("b"), 200_000)}
		put(t, h, "swap", contents[0])
		stop := make(chan struct{})
		var writers, readers sync.WaitGroup
		for _, content := range contents {
			path := file(t, content)
			writers.Go(func() {
				for range 20 {
					if err := h.PutFile(t.Context(), "swap", path); err != nil {
						t.Errorf("put: %v", err)
					}
				}
			})
		}
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if got := read(t, h, "swap"); !bytes.Equal(got, contents[0]) && !bytes.Equal(got, contents[1]) {
					t.Errorf("read %d bytes that nobody has put", len(got))
				}
			}
		})
		writers.Wait()
		close(stop)
		readers.Wait()
	})
}

func TestOpenWhileDeleting(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		content := random(3 << 20)
		put(t, h, "going", content)
		body, _, err := h.Open(t.Context(), "going")
		if err != nil {
			t.Fatalf("open: %v", err)
		}
		defer body.Close()
		start := make([]byte, 1000)
		if _, err := io.ReadFull(body, start); err != nil {
			t.Fatalf("read: %v", err)
		}
		if err := h.Delete(t.Context(), "going"); err != nil {
			t.Fatalf("delete: %v", err)
		}
		rest, err := io.ReadAll(body)
		if err != nil || !bytes.Equal(append(start, rest...), content) {
			t.Errorf("after the deletion %d bytes could be read (%v)", len(rest), err)
		}
		wantMissing(t, h, "going")
	})
}

func TestCanceled(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "canceled", h.small+1)
		put(t, h, "there", []byte("there"))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		to, from := filepath.Join(t.TempDir(), "to"), file(t, random(20<<20))
		for name, call := range map[string]func() error{
			"Begin":    func() error { _, err := h.Begin(ctx, "x"); return err },
			"Complete": func() error { return h.Complete(ctx, s.upload, s.plan, s.parts) },
			"Abort":    func() error { return h.Abort(ctx, s.upload) },
			"PutFile":  func() error { return h.PutFile(ctx, "x", from) },
			"Open":     func() error { _, _, err := h.Open(ctx, "there"); return err },
			"Fetch":    func() error { return objects.Fetch(ctx, h, "there", to) },
			"Delete":   func() error { return h.Delete(ctx, "there") },
			"Ping":     func() error { return h.Ping(ctx) },
			"Sweep":    func() error { _, err := h.Sweep(ctx, time.Now()); return err },
		} {
			if err := call(); !errors.Is(err, context.Canceled) || errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("%s: got %v, want the context's error", name, err)
			}
		}
		wantMissing(t, h, "x")
		if got := read(t, h, "there"); string(got) != "there" {
			t.Errorf("the object is now %q", got)
		}
		if err := h.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
			t.Errorf("complete after all: %v", err)
		}
	})
}

func TestSweep(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		s := sendAll(t, h, "stale/upload", h.small+1)
		done := sendAll(t, h, "done/upload", 10)
		if err := h.Complete(t.Context(), done.upload, done.plan, done.parts); err != nil {
			t.Fatalf("complete: %v", err)
		}
		if n, err := h.Sweep(t.Context(), time.Now().Add(-time.Hour)); n != 0 || err != nil {
			t.Errorf("sweeping what is an hour old removed %d (%v)", n, err)
		}
		sendPart(t, h, s.upload, 2, s.content[h.small:])
		if n, err := h.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
			t.Errorf("sweeping everything removed %d (%v), want 1", n, err)
		}
		err := h.Complete(t.Context(), s.upload, s.plan, s.parts)
		wantKind(t, err, domain.ErrNotFound)
		if !bytes.Equal(read(t, h, "done/upload"), done.content) {
			t.Error("the completed object has changed")
		}
	})
}

func TestPing(t *testing.T) {
	eachHome(t, func(t *testing.T, h home) {
		if err := h.Ping(t.Context()); err != nil {
			t.Errorf("ping: %v", err)
		}
		if h.Bucket() == "" {
			t.Error("the home has no name")
		}
	})
}
