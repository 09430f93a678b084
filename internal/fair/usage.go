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
	// most is what the user has used who has used the most: all decay equally.
	most used
	// sweep is the number of users at which those with nothing left are removed.
	sweep int
}

// used is an amount at a time.
type used struct {
	amount time.Duration
	at     time.Time
}

// heavyShare is how many times as much another user must have used for a user not to be heavy.
const heavyShare = 3

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
	u.users[user] = used{u.left(u.users[user], now) + amount, now}
	if u.users[user].amount > u.left(u.most, now) {
		u.most = u.users[user]
	}
	if len(u.users) >= u.sweep {
		maps.DeleteFunc(u.users, func(user string, _ used) bool { return u.left(u.users[user], now) < time.Millisecond })
		u.sweep = max(minSweep, 2*len(u.users))
	}
}

// Of returns what a user has used lately.
func (u *Usage) Of(user string) time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.left(u.users[user], time.Now())
}

// IsHeavy reports whether a user has used a limit or more, unless another has used many times as
// much.
func (u *Usage) IsHeavy(user string, limit time.Duration) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.isHeavy(u.users[user], limit, time.Now())
}

// Heavy returns the users of whom IsHeavy is true.
func (u *Usage) Heavy(limit time.Duration) (users []string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	for user, used := range u.users {
		if u.isHeavy(used, limit, now) {
			users = append(users, user)
		}
	}
	return users
}

func (u *Usage) isHeavy(used used, limit time.Duration, now time.Time) bool {
	left := u.left(used, now)
	return left >= limit && left >= u.left(u.most, now)/heavyShare
}

// left is what remains of an amount.
func (u *Usage) left(used used, now time.Time) time.Duration {
	return time.Duration(float64(used.amount) * math.Exp2(-float64(now.Sub(used.at))/float64(u.halfLife)))
}
