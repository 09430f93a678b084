package sqlstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// taskLease names the lease of a leased task. Processes of other versions know the name.
func taskLease(name string) string { return "chore/" + name }

// AcquireLease implements storage.Leases.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (storage.Lease, error) {
	lease := storage.Lease{Name: name}
	err := s.inLeaseTx(ctx, "acquire lease", func(tx *sqlx.Tx) (err error) {
		lease.Fence, _, err = s.acquireLease(ctx, tx, taskLease(name), holder, ttl)
		return err
	})
	return lease, err
}

// RenewLease implements storage.Leases.
func (s *Store) RenewLease(ctx context.Context, lease storage.Lease, ttl time.Duration) error {
	return s.inLeaseTx(ctx, "renew lease", func(tx *sqlx.Tx) error {
		return s.renewLease(ctx, tx, taskLease(lease.Name), lease.Fence, ttl)
	})
}

// ReleaseLease implements storage.Leases.
func (s *Store) ReleaseLease(ctx context.Context, lease storage.Lease) error {
	return s.inLeaseTx(ctx, "release lease", func(tx *sqlx.Tx) error {
		return deleteLease(ctx, tx, taskLease(lease.Name), lease.Fence)
	})
}

// ExpireLeases ends all leases, for the one process that has the embedded database
// and starts: their holders are gone.
func (s *Store) ExpireLeases(ctx context.Context) error {
	return s.execTx(ctx, "expire leases", `UPDATE leases SET expires_at = 0`)
}

// acquireLease acquires a lease that nobody holds now; ErrConflict when somebody does.
// The fence grows with each holder. It begins with the time, so that it grows although
// leases are deleted. Without a new holder it gives the last one.
func (s *Store) acquireLease(ctx context.Context, tx *sqlx.Tx, name, newHolder string, ttl time.Duration) (fence int64, holder string, err error) {
	now := s.now()
	var acquired []struct {
		Fence  int64
		Holder string
	}
	err = tx.SelectContext(ctx, &acquired, `
INSERT INTO leases (name, holder, fence, expires_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE
SET holder = CASE WHEN excluded.holder = '' THEN leases.holder ELSE excluded.holder END,
	fence = leases.fence + 1, expires_at = excluded.expires_at
WHERE leases.expires_at <= $5
RETURNING fence, holder`, name, newHolder, now.UnixMicro(), now.Add(ttl).UnixMilli(), now.UnixMilli())
	if err != nil {
		return 0, "", err
	}
	if len(acquired) == 0 {
		return 0, "", storage.ErrConflict
	}
	return acquired[0].Fence, acquired[0].Holder, nil
}

// renewLease extends a lease with this fence; ErrConflict when it has another by now.
func (s *Store) renewLease(ctx context.Context, tx *sqlx.Tx, name string, fence int64, ttl time.Duration) error {
	return orConflict(execOne(ctx, tx, `UPDATE leases SET expires_at = $3 WHERE name = $1 AND fence = $2`,
		name, fence, s.now().Add(ttl).UnixMilli()))
}

// deleteLease releases a lease; ErrConflict as above.
func deleteLease(ctx context.Context, tx *sqlx.Tx, name string, fence int64) error {
	return orConflict(execOne(ctx, tx, `DELETE FROM leases WHERE name = $1 AND fence = $2`, name, fence))
}

// serverClock shows PostgreSQL's time, by which all replicas go: leases of one are
// compared with the time of another. From one look at it to the next it goes by
// the time that has passed, not by the machine's clock, which can be set.
type serverClock struct{ seen atomic.Pointer[clockSeen] }

// clockSeen is what the server's clock showed at a moment.
type clockSeen struct{ shown, at time.Time }

// clockSlack is how much a clock may seem to be off, beyond what asking took,
// without being set.
const clockSlack = time.Second / 10

func (c *serverClock) now() time.Time {
	seen := c.seen.Load()
	return seen.shown.Add(time.Since(seen.at))
}

// sync sets the clock, unless it is right.
func (c *serverClock) sync(ctx context.Context, db sqlx.QueryerContext) error {
	var millis int64
	asked := time.Now()
	err := sqlx.GetContext(ctx, db, &millis, `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`)
	if err != nil {
		return err
	}
	took := time.Since(asked)
	seen := &clockSeen{shown: time.UnixMilli(millis), at: asked.Add(took / 2)}
	if c.seen.Load() == nil || seen.shown.Sub(c.now().Add(-time.Since(seen.at))).Abs() > took+clockSlack {
		c.seen.Store(seen)
	}
	return nil
}
