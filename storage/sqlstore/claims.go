package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"parley/internal/domain"
)

// SetUserClaims records what a token says about its user, in place of what older ones said. Of
// tokens of the same second the first counts.
func (s *Store) SetUserClaims(ctx context.Context, said domain.UserClaims) error {
	var known int64
	err := s.GetContext(ctx, &known, `SELECT issued_at FROM user_claim_times WHERE username = $1`, said.Username)
	if err == nil && known >= said.IssuedAt.UnixMilli() {
		return nil
	}
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return wrap("read claims of a user", err)
	}
	return s.inTx(ctx, "record claims of a user", func(tx *transaction) error {
		n, err := exec(ctx, tx, `
INSERT INTO user_claim_times (username, issued_at)
VALUES ($1, $2)
ON CONFLICT (username) DO UPDATE
SET issued_at = excluded.issued_at
WHERE user_claim_times.issued_at < excluded.issued_at`, said.Username, said.IssuedAt.UnixMilli())
		if err != nil || n == 0 {
			return err
		}
		if _, err := exec(ctx, tx, `DELETE FROM user_claims WHERE username = $1`, said.Username); err != nil {
			return err
		}
		for _, claim := range said.Claims {
			_, err := exec(ctx, tx, `
INSERT INTO user_claims (username, claim, value, grantee)
VALUES ($1, $2, $3, $4)
ON CONFLICT (username, claim, value) DO NOTHING`, said.Username, claim.Claim, claim.Value, claim.Grantee)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteOldClaims deletes what tokens that were issued that long ago said about some users. It
// returns how many users that were. That they were issued stays: older ones still do not count.
func (s *Store) DeleteOldClaims(ctx context.Context, age time.Duration) (int, error) {
	var before time.Time
	return s.removeOld(ctx, "delete old claims", age, func(tx *transaction, at time.Time) (users []string, err error) {
		before = at
		err = tx.SelectContext(ctx, &users, `
SELECT t.username
FROM user_claim_times t
WHERE t.issued_at < $1
	AND EXISTS (SELECT 1 FROM user_claims c WHERE c.username = t.username)
ORDER BY t.issued_at
LIMIT `+retentionBatchText, before.UnixMilli())
		return users, err
	}, func(tx *transaction, users []string) error {
		return execIn(ctx, tx, `
DELETE FROM user_claims
WHERE username IN (SELECT t.username FROM user_claim_times t WHERE t.username IN (:users) AND t.issued_at < :before)`,
			args{"users": users, "before": before.UnixMilli()})
	})
}
