package profile

import (
	"context"
	"crypto/sha256"
	"sync"

	"parley/internal/lru"
	"parley/llm"
	"parley/llm/reader/catalog"
)

// Cache is a least-recently-used cache of profiles with a limit in bytes. It is safe for
// concurrent use.
type Cache struct {
	parts *lru.Cache[Key, *catalog.Part]
	mu    sync.Mutex
	// reading has a channel for each dataset that is being read, closed when that ends.
	reading map[Key]chan struct{}
}

// Key identifies a version of a dataset.
type Key [sha256.Size]byte

// KeyOf returns the key of a dataset: a hash of its version, columns and descriptions.
func KeyOf(d llm.Dataset) Key {
	text := make([]byte, 0, 4096)
	add := func(s string) { text = append(append(text, s...), 0) }
	add(d.Name)
	add(d.DisplayName)
	add(d.Version)
	add(d.Description)
	for _, part := range d.Parts {
		add(part)
	}
	for _, c := range d.Columns {
		add(c.Name)
		add(c.Type)
		add(c.Description)
	}
	return sha256.Sum256(text)
}

// NewCache returns a [Cache] with a limit in bytes.
func NewCache(limit int) *Cache {
	return &Cache{parts: lru.New[Key, *catalog.Part](limit), reading: map[Key]chan struct{}{}}
}

// Cached returns a dataset from the cache; nil if it is not there.
func (c *Cache) Cached(key Key) *catalog.Part {
	part, _ := c.parts.Get(key)
	return part
}

// Part returns a dataset from the cache, or reads it. Concurrent callers share one read. A
// dataset without a version is read each time.
func (c *Cache) Part(ctx context.Context, data llm.Data, d llm.Dataset) (*catalog.Part, error) {
	if d.Version == "" {
		return read(ctx, data, d)
	}
	for key := KeyOf(d); ; {
		if part := c.Cached(key); part != nil {
			return part, nil
		}
		c.mu.Lock()
		busy, waiting := c.reading[key]
		if !waiting {
			c.reading[key] = make(chan struct{})
		}
		c.mu.Unlock()
		if !waiting {
			return c.readShared(ctx, key, data, d)
		}
		select {
		case <-busy:
			// The part may be too large for the cache, or reading failed: try again.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readShared reads a dataset and wakes the callers that wait for it.
func (c *Cache) readShared(ctx context.Context, key Key, data llm.Data, d llm.Dataset) (*catalog.Part, error) {
	defer func() {
		c.mu.Lock()
		close(c.reading[key])
		delete(c.reading, key)
		c.mu.Unlock()
	}()
	part, err := read(ctx, data, d)
	if err == nil {
		c.parts.Put(key, part, part.Size())
	}
	return part, err
}

func read(ctx context.Context, data llm.Data, d llm.Dataset) (*catalog.Part, error) {
	p, err := Read(ctx, data, d)
	if err != nil {
		return nil, err
	}
	return catalog.NewPart(p), nil
}
