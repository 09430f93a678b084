package rules

import (
	"container/list"
	"context"
	"sync"
)

// cache keeps what was learnt of datasets, the most recently used, within a
// number of bytes. It is safe for concurrent use.
type cache struct {
	mu    sync.Mutex
	limit int
	used  int
	byKey map[string]*list.Element
	order *list.List
	// learning has what is being learnt now; it is closed when that ends.
	learning map[string]chan struct{}
}

type cached struct {
	key   string
	table *table
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: map[string]*list.Element{}, order: list.New(), learning: map[string]chan struct{}{}}
}

func (c *cache) get(key string) *table {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(cached).table
}

func (c *cache) put(key string, t *table) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.bytes > c.limit {
		return
	}
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	c.byKey[key] = c.order.PushFront(cached{key, t})
	c.used += t.bytes
	for c.used > c.limit {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	entry := e.Value.(cached)
	c.order.Remove(e)
	delete(c.byKey, entry.key)
	c.used -= entry.table.bytes
}

// once gives what is known under a key, and has it learnt where nothing is: by
// one caller, for whom the others wait.
func (c *cache) once(ctx context.Context, key string, learn func() (*table, error)) (*table, error) {
	for {
		if t := c.get(key); t != nil {
			return t, nil
		}
		c.mu.Lock()
		busy, waiting := c.learning[key]
		if !waiting {
			c.learning[key] = make(chan struct{})
		}
		c.mu.Unlock()
		if !waiting {
			return c.first(key, learn)
		}
		select {
		case <-busy:
			// What it learnt may be too large to be kept, or it failed: look again.
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// first learns for all who wait.
func (c *cache) first(key string, learn func() (*table, error)) (*table, error) {
	defer func() {
		c.mu.Lock()
		close(c.learning[key])
		delete(c.learning, key)
		c.mu.Unlock()
	}()
	t, err := learn()
	if err == nil {
		c.put(key, t)
	}
	return t, err
}
