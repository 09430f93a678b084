// Package lru keeps what was used most recently, within a number of bytes.
package lru

import (
	"container/list"
	"sync"
)

// Cache is values by their keys. It is safe for concurrent use.
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
	bytes int
}

// New makes a [Cache] of so many bytes.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, byKey: map[K]*list.Element{}, order: list.New()}
}

// Get gives the value of a key, and says whether there is one.
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

// Put keeps a value that takes about so many bytes. One that is larger than the cache is
// not kept.
func (c *Cache[K, V]) Put(key K, value V, bytes int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.byKey[key]; ok {
		c.drop(e)
	}
	if bytes > c.limit {
		return
	}
	c.byKey[key] = c.order.PushFront(entry[K, V]{key, value, bytes})
	for c.used += bytes; c.used > c.limit; {
		c.drop(c.order.Back())
	}
}

func (c *Cache[K, V]) drop(e *list.Element) {
	old := e.Value.(entry[K, V])
	c.order.Remove(e)
	delete(c.byKey, old.key)
	c.used -= old.bytes
}
