package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/internal/domain"
	"parley/internal/jobs"
)

// storedAfterExpiry is how long leases of holders that died are stored.
const storedAfterExpiry = 24 * time.Hour

// AcquireLease implements jobs.Leases. It deletes the leases of the same kind whose holders died
// long ago.
func (s *Store) AcquireLease(ctx context.Context, name, holder string, ttl time.Duration) (lease domain.Lease, err error) {
	err = s.inLeaseTx(ctx, "acquire lease", func(tx *transaction) (err error) {
		lease, _, err = s.acquireLease(ctx, tx, name, holder, ttl)
		if err == nil {
			kind, _, _ := strings.Cut(name, "/")
			_, err = exec(ctx, tx, `DELETE FROM leases WHERE name LIKE $1 AND expires_at < $2`,
				kind+"/%", s.now().Add(-storedAfterExpiry).UnixMilli())
		}
		return err
	})
	return lease, err
}

// RenewLease implements jobs.Leases. It also sets the clock, since it is called now and then.
func (s *Store) RenewLease(ctx context.Context, lease domain.Lease, ttl time.Duration) error {
	return s.inLeaseTx(ctx, "renew lease", func(tx *transaction) error {
		if s.clock != nil {
			if err := s.clock.sync(ctx, tx); err != nil {
				return err
			}
		}
		return s.renewLease(ctx, tx, lease, ttl)
	})
}

// ReleaseLease implements jobs.Leases.
func (s *Store) ReleaseLease(ctx context.Context, lease domain.Lease) error {
	return s.inLeaseTx(ctx, "release lease", func(tx *transaction) error {
		return deleteLease(ctx, tx, lease)
	})
}

// heldJobs has statements for the jobs of hosts, whose column holder names the host.
var heldJobs = map[jobs.Kind]struct{ id, find, release string }{
	jobs.Runs: {`run_id`, `SELECT run_id FROM tasks WHERE open`, `UPDATE tasks SET holder = '' WHERE open`},
	jobs.Pushes: {`run_id || '/' || id`, `SELECT run_id || '/' || id FROM push_configs WHERE NOT ended`,
		`UPDATE push_configs SET holder = '' WHERE NOT ended`},
}

// ReleaseUnused releases those jobs of a host that it does not use: the response of a claim or
// a release was lost, or the host stops. It returns their ids. It notifies other processes,
// which can claim the jobs.
func (s *Store) ReleaseUnused(ctx context.Context, kind jobs.Kind, host string, used func(id string) bool) (released []string, err error) {
	held := heldJobs[kind]
	err = s.inLeaseTx(ctx, "release "+string(kind), func(tx *transaction) error {
		released = nil
		err := tx.SelectContext(ctx, &released, held.find+` AND holder = $1`, host)
		if released = slices.DeleteFunc(released, used); err != nil || len(released) == 0 {
			return err
		}
		for list := range lists(released) {
			err := execIn(ctx, tx, held.release+` AND holder = :host AND `+held.id+` IN (:ids)`, args{"host": host, "ids": list})
			if err != nil {
				return err
			}
		}
		if s.dialect.notify == "" {
			return nil
		}
		_, err = exec(ctx, tx, s.dialect.notify, s.instance)
		return err
	})
	return released, err
}

// claimEach finds jobs and claims them one by one, in one transaction. It leaves out those that
// claim does not find any more: another process was faster.
func claimEach[Found, Job any](ctx context.Context, s *Store, attempt string,
	find func(tx *transaction) ([]Found, error), claim func(tx *transaction, found Found) (Job, error),
) (claimed []Job, err error) {
	err = s.inLeaseTx(ctx, attempt, func(tx *transaction) error {
		claimed = nil
		found, err := find(tx)
		for i := 0; i < len(found) && err == nil; i++ {
			var job Job
			switch job, err = claim(tx, found[i]); {
			case err == nil:
				claimed = append(claimed, job)
			case errors.Is(err, domain.ErrNotFound):
				err = nil
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// unleased is the condition that no holder has the lease of a name, an SQL expression, at the
// time :now.
func unleased(name string) string {
	return `NOT EXISTS (SELECT 1 FROM leases l WHERE l.name = ` + name + ` AND l.expires_at > :now)`
}

// ExpireLeases ends all leases, and all claims of watches. It is for the process of the embedded
// database when it starts: no other holder is alive.
func (s *Store) ExpireLeases(ctx context.Context) error {
	return s.inTx(ctx, "expire leases", func(tx *transaction) error {
		_, err := exec(ctx, tx, `UPDATE leases SET expires_at = 0`)
		if err == nil {
			_, err = exec(ctx, tx, `UPDATE watches SET claimed_until = 0`)
		}
		return err
	})
}

// acquireLease acquires a lease that is free; ErrConflict when it is held.
// The fence grows with each holder. It begins with the time, so that it grows although
// leases are deleted. Without a new holder it returns the last one.
func (s *Store) acquireLease(ctx context.Context, tx *transaction, name, newHolder string, ttl time.Duration) (lease domain.Lease, holder string, err error) {
	now := s.now()
	err = tx.QueryRowxContext(ctx, `
INSERT INTO leases (name, holder, fence, expires_at)
VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE
SET holder = CASE WHEN excluded.holder = '' THEN leases.holder ELSE excluded.holder END,
	fence = leases.fence + 1, expires_at = excluded.expires_at
WHERE leases.expires_at <= $5
RETURNING name, fence, holder`, name, newHolder, now.UnixMicro(), now.Add(ttl).UnixMilli(), now.UnixMilli()).Scan(&lease.Name, &lease.Fence, &holder)
	if errors.Is(err, sql.ErrNoRows) {
		err = domain.ErrConflict
	}
	return lease, holder, err
}

// renewLease extends a lease; ErrConflict when another holder has it by now. One without a ttl is
// free for all processes at once, also for those whose clock is a little behind.
func (s *Store) renewLease(ctx context.Context, tx *transaction, lease domain.Lease, ttl time.Duration) error {
	expires := int64(0)
	if ttl > 0 {
		expires = s.now().Add(ttl).UnixMilli()
	}
	return orConflict(execOne(ctx, tx, `UPDATE leases SET expires_at = $3 WHERE name = $1 AND fence = $2`, lease.Name, lease.Fence, expires))
}

// deleteLease releases a lease; ErrConflict as above.
func deleteLease(ctx context.Context, tx *transaction, lease domain.Lease) error {
	return orConflict(execOne(ctx, tx, `DELETE FROM leases WHERE name = $1 AND fence = $2`, lease.Name, lease.Fence))
}

// serverClock is the clock of PostgreSQL, which all replicas use, because they compare each
// other's leases with the time. Between two readings it adds the time that has passed, rather
// than use the clock of the machine, which can be set.
type serverClock struct{ seen atomic.Pointer[clockReading] }

// clockReading is the time of the server at a moment of this machine.
type clockReading struct{ shown, at time.Time }

// clockSlack is how much a clock may differ, beyond the time of the request, without being
// set.
const clockSlack = time.Second / 10

func (c *serverClock) now() time.Time {
	seen := c.seen.Load()
	return seen.shown.Add(time.Since(seen.at))
}

// sync sets the clock if it is wrong.
func (c *serverClock) sync(ctx context.Context, db sqlx.QueryerContext) error {
	var millis int64
	start := time.Now()
	err := sqlx.GetContext(ctx, db, &millis, `SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)`)
	if err != nil {
		return err
	}
	took := time.Since(start)
	seen := &clockReading{shown: time.UnixMilli(millis), at: start.Add(took / 2)}
	if c.seen.Load() == nil || seen.shown.Sub(c.now().Add(-time.Since(seen.at))).Abs() > took+clockSlack {
		c.seen.Store(seen)
	}
	return nil
}
