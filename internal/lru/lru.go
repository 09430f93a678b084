// Package lru is a least-recently-used cache with a limit of the total size. Callers give
// the size of each value, in bytes, or 1 to count them.
package lru

import (
	"container/list"
	"sync"
)

// Cache maps keys to values. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	mu    sync.Mutex
	limit int
	used  int
	byKey map[K]*list.Element
	order *list.List
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New returns a [Cache] with a limit of the total size.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, byKey: map[K]*list.Element{}, order: list.New()}
}

// Get returns the value of a key; ok is false if there is none.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.byKey[key]
	if !ok {
		return value, false
	}
	c.order.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Put stores a value of about this size. A value larger than the limit is not stored.
func (c *Cache[K, V]) Put(key K, value V, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	if size > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(entry[K, V]{key, value, size})
	for c.used += size; c.used > c.limit; {
		c.drop(c.order.Back())
	}
}

func (c *Cache[K, V]) drop(e *list.Element) {
	old := e.Value.(entry[K, V])
	c.order.Remove(e)
	delete(c.byKey, old.key)
	c.used -= old.size
}

// Len returns the number of values.
func (c *Cache[K, V]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byKey)
}
