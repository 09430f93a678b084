package sqlstore

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/jmoiron/sqlx"
)

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
