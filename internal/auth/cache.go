package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cacheSize limits each of the two generations of the cache.
const cacheSize = 2048

// verified is what a token's text proves.
type verified struct {
	username string
	ownID    string // the id of a user's own token, which has no username
	expires  time.Time
	keys     any // the token is cached as long as these are the current keys
}

// cache has verified tokens by their hash: to verify one takes longer than most operations.
type cache struct {
	mu           sync.Mutex
	young, aging map[[sha256.Size]byte]verified
}

// get returns a token that is still valid.
func (c *cache) get(hash [sha256.Size]byte, keys any, now time.Time) (verified, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	found, ok := c.young[hash]
	if !ok {
		if found, ok = c.aging[hash]; ok {
			c.add(hash, found)
		}
	}
	return found, ok && found.keys == keys && now.Before(found.expires)
}

func (c *cache) put(hash [sha256.Size]byte, v verified) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(hash, v)
}

func (c *cache) add(hash [sha256.Size]byte, v verified) {
	if len(c.young) >= cacheSize || c.young == nil {
		c.young, c.aging = make(map[[sha256.Size]byte]verified), c.young
	}
	c.young[hash] = v
}
