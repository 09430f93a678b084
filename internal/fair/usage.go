package fair

import (
	"maps"
	"math"
	"sync"
	"time"
)

// Usage is the processor time that users have used lately: it decays by half in a half-life.
// It is safe for concurrent use.
type Usage struct {
	halfLife time.Duration
	mu       sync.Mutex
	users    map[string]used
	// sweep is the number of users at which those with nothing left are removed.
	sweep int
}

// used is an amount at a time.
type used struct {
	amount time.Duration
	at     time.Time
}

// minSweep limits how often users are removed.
const minSweep = 64

// NewUsage makes a Usage.
func NewUsage(halfLife time.Duration) *Usage {
	return &Usage{halfLife: halfLife, users: map[string]used{}, sweep: minSweep}
}

// Add charges a user for some time.
func (u *Usage) Add(user string, amount time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	u.users[user] = used{u.at(user, now) + amount, now}
	if len(u.users) >= u.sweep {
		maps.DeleteFunc(u.users, func(user string, _ used) bool { return u.at(user, now) < time.Millisecond })
		u.sweep = max(minSweep, 2*len(u.users))
	}
}

// Of returns what a user has used lately.
func (u *Usage) Of(user string) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.at(user, time.Now())
}

// Above returns the users who have used a limit or more.
func (u *Usage) Above(limit time.Duration) (users []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for user := range u.users {
		if u.at(user, now) >= limit {
			users = append(users, user)
		}
	}
	return users
}

func (u *Usage) at(user string, now time.Time) time.Duration {
	used, ok := u.users[user]
	if !ok {
		return 0
	}
	return time.Duration(float64(used.amount) * math.Exp2(-float64(now.Sub(used.at))/float64(u.halfLife)))
}
