package profile

import (
	"context"
	"crypto/sha256"
	"sync"

	"parley/llm"
	"parley/llm/reader/catalog"
	"parley/llm/reader/lru"
)

// Cache keeps what is known of datasets, those that were used most recently, within a
// number of bytes. It is safe for concurrent use.
type Cache struct {
	parts *lru.Cache[Key, *catalog.Part]
	mu    sync.Mutex
	// reading has what is being read now; it is closed when that ends.
	reading map[Key]chan struct{}
}

// Key tells versions of datasets apart.
type Key [sha256.Size]byte

// KeyOf gives the key of a dataset: its version, and what its owner says of it.
func KeyOf(d llm.Dataset) Key {
	text := make([]byte, 0, 4096)
	add := func(s string) { text = append(append(text, s...), 0) }
	add(d.Name)
	add(d.Version)
	add(d.Description)
	for _, c := range d.Columns {
		add(c.Name)
		add(c.Type)
		add(c.Description)
	}
	return sha256.Sum256(text)
}

// NewCache makes a [Cache] of so many bytes.
func NewCache(limit int) *Cache {
	return &Cache{parts: lru.New[Key, *catalog.Part](limit), reading: map[Key]chan struct{}{}}
}

// Cached gives what is known of a dataset, nil where nothing is.
func (c *Cache) Cached(key Key) *catalog.Part {
	part, _ := c.parts.Get(key)
	return part
}

// Part gives what is known of a dataset. Where nothing is, one caller reads it, for
// whom others wait. A dataset without a version is read each time.
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
			// What was read may be too large to be kept, or reading failed: look again.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// readShared reads for all who wait.
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
