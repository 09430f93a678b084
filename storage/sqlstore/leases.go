package sqlstore

import (
	"context"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

// takeLease makes holder the holder of a lease that nobody holds now, and gives
// the fence: a number that grows with each holder, and begins with the time, so
// that it grows though an ended lease is forgotten. ErrConflict when somebody
// does.
func (s *Store) takeLease(ctx context.Context, tx *sqlx.Tx, name, holder string, lasts time.Duration) (int64, error) {
	now := s.now()
	var fences []int64
	err := tx.SelectContext(ctx, &fences, `
INSERT INTO leases (name, holder, fence, expires_at)
VALUES ($1, $2, $5, $3)
ON CONFLICT (name) DO UPDATE
SET holder = excluded.holder, fence = leases.fence + 1, expires_at = excluded.expires_at
WHERE leases.expires_at <= $4
RETURNING fence`, name, holder, now.Add(lasts).UnixMilli(), now.UnixMilli(), now.UnixMicro())
	if err != nil {
		return 0, err
	}
	if len(fences) == 0 {
		return 0, storage.ErrConflict
	}
	return fences[0], nil
}

// EndLeases ends all leases, for the one process that has the embedded database
// and starts: whoever held them is gone.
func (s *Store) EndLeases(ctx context.Context) error {
	return s.inTx(ctx, "end leases", func(tx *sqlx.Tx) error {
		_, err := exec(ctx, tx, `UPDATE leases SET expires_at = 0`)
		return err
	})
}

// holdLease extends a lease that is still the one with this fence. ErrConflict
// when it was taken over.
func (s *Store) holdLease(ctx context.Context, tx *sqlx.Tx, name string, fence int64, lasts time.Duration) error {
	return orConflict(execOne(ctx, tx, `UPDATE leases SET expires_at = $3 WHERE name = $1 AND fence = $2`,
		name, fence, s.now().Add(lasts).UnixMilli()))
}

// endLease ends a lease for good: what it was for is over. ErrConflict when it
// was taken over.
func endLease(ctx context.Context, tx *sqlx.Tx, name string, fence int64) error {
	return orConflict(execOne(ctx, tx, `DELETE FROM leases WHERE name = $1 AND fence = $2`, name, fence))
}
