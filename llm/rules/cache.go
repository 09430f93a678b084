package rules

import (
	"container/list"
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
}

type cached struct {
	key   string
	table *table
}

func newCache(limit int) *cache {
	return &cache{limit: limit, byKey: map[string]*list.Element{}, order: list.New()}
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
