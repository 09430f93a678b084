package auth

import (
	"crypto/sha256"
	"sync"
	"time"
)

// cacheSize bounds how many verified tokens are remembered, twice over.
const cacheSize = 2048

// verified is what was found of a token that held.
type verified struct {
	// username is whom it speaks for; ownID is its id where it is a user's own.
	username string
	ownID    string
	expires  time.Time
	// keys are what it was verified with: it is remembered as long as they are
	// the ones to verify with.
	keys any
}

// cache remembers verified tokens by their hash, because verifying one takes
// longer than most of what it is sent for. Old entries go when there are many.
type cache struct {
	mu           sync.Mutex
	young, aging map[[sha256.Size]byte]verified
}

// get finds a token that still holds.
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
