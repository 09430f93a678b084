package fair

import "sync"

// Counter limits how many things each user has open at a time. The zero value is ready to use,
// also by several goroutines.
type Counter struct {
	mu   sync.Mutex
	open map[string]int
}

// Open counts one more until end is called, which may be called twice. It returns false if the
// user has as many as one may.
func (c *Counter) Open(name string, most int) (end func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[name] >= most {
		return nil, false
	}
	if c.open == nil {
		c.open = map[string]int{}
	}
	c.open[name]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.open[name]--; c.open[name] == 0 {
			delete(c.open, name)
		}
	}), true
}

// AtLimit returns the users who have as many open as one may, or more.
func (c *Counter) AtLimit(most int) (users []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for user, open := range c.open {
		if open >= most {
			users = append(users, user)
		}
	}
	return users
}

// Total returns how many all users have open.
func (c *Counter) Total() (total int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, open := range c.open {
		total += open
	}
	return total
}
