package reader_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/ducktest"
	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/profile"
)

func TestCacheSizeLimit(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	dogs := d.Table("dogs", "name VARCHAR, age BIGINT", "('Rex', 3), ('Spot', 5)")
	version := func(i int) llm.Dataset {
		one := dogs
		one.Version = fmt.Sprint(i)
		return one
	}
	p, err := profile.Read(t.Context(), d, dogs)
	if err != nil {
		t.Fatal(err)
	}
	one := catalog.NewPart(p).Size()
	cache := profile.NewCache(3 * one)
	for i := range 50 {
		if _, err := cache.Part(t.Context(), d, version(i)); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range map[int]bool{46: false, 47: true, 48: true, 49: true} {
		if known := cache.Cached(profile.KeyOf(version(i))) != nil; known != want {
			t.Errorf("version %d is known: %v", i, known)
		}
	}
	cache.Cached(profile.KeyOf(version(47)))
	_, _ = cache.Part(t.Context(), d, version(50))
	if cache.Cached(profile.KeyOf(version(47))) == nil {
		t.Error("what was used last was dropped")
	}
	small := profile.NewCache(one - 1)
	if part, err := small.Part(t.Context(), d, dogs); err != nil || part == nil || small.Cached(profile.KeyOf(dogs)) != nil {
		t.Errorf("what is too large is kept: %v", err)
	}
}

// TestConcurrentReadsShareOne has many callers wait for one that reads.
func TestConcurrentReadsShareOne(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	dogs := d.Table("dogs", "name VARCHAR, age BIGINT", "('Rex', 3), ('Spot', 5)")
	cache := profile.NewCache(1 << 20)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			if _, err := cache.Part(t.Context(), d, dogs); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := d.Queries.Load(); n != 1 {
		t.Errorf("%d queries", n)
	}
	dogs.Description = "all of them"
	if _, err := cache.Part(t.Context(), d, dogs); err != nil || d.Queries.Load() != 2 {
		t.Errorf("another description: %d queries, %v", d.Queries.Load(), err)
	}
	dogs.Version = ""
	for range 2 {
		_, _ = cache.Part(t.Context(), d, dogs)
	}
	if n := d.Queries.Load(); n != 4 {
		t.Errorf("without a version: %d queries", n)
	}
}

// blockedData blocks queries until it is released.
type blockedData struct {
	llm.Data
	release chan struct{}
}

func (h blockedData) Query(ctx context.Context, sql string) (llm.Rows, error) {
	<-h.release
	return h.Data.Query(ctx, sql)
}

// TestWaitEndsWithContext returns up waiting for another caller when its own context ends.
func TestWaitEndsWithContext(t *testing.T) {
	t.Parallel()
	d := ducktest.New(t)
	dogs := d.Table("dogs", "name VARCHAR", "('Rex')")
	data := blockedData{d, make(chan struct{})}
	cache := profile.NewCache(1 << 20)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	var wait sync.WaitGroup
	started := make(chan struct{})
	wait.Go(func() {
		close(started)
		_, _ = cache.Part(t.Context(), data, dogs)
	})
	<-started
	if _, err := cache.Part(ended, d, dogs); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	close(data.release)
	wait.Wait()
}
