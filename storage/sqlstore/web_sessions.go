package sqlstore

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"parley/internal/domain"
)

// maxWebSessions limits the sessions of a user.
const maxWebSessions = 20

// CreateWebSession stores a session with its token, and removes the user's expired ones and
// the oldest of more than maxWebSessions.
func (s *Store) CreateWebSession(ctx context.Context, session domain.WebSession) error {
	return s.inTx(ctx, "create web session", func(tx *transaction) error {
		_, err := exec(ctx, tx, `
DELETE FROM tokens
WHERE owner = $1
	AND expires_at <= $2
	AND id IN (SELECT token_id FROM web_sessions)`, session.Owner, s.millis())
		if err != nil {
			return err
		}
		if err := insertToken(ctx, tx, session.Owner, session.NewToken); err != nil {
			return err
		}
		_, err = exec(ctx, tx, `
INSERT INTO web_sessions (token_id, secrets, refresh_at)
VALUES ($1, $2, $3)`, session.ID, encodeSecrets(session.Secrets), session.RefreshAt.UnixMilli())
		if err != nil {
			return err
		}
		_, err = exec(ctx, tx, `
DELETE FROM tokens
WHERE owner = $1
	AND id IN (SELECT token_id FROM web_sessions)
	AND id NOT IN (
		SELECT t.id
		FROM web_sessions w
		JOIN tokens t ON t.id = w.token_id
		WHERE t.owner = $1
		ORDER BY t.created_at DESC, t.id DESC
		LIMIT $2
	)`, session.Owner, maxWebSessions)
		return err
	})
}

func encodeSecrets(secrets []byte) string { return base64.StdEncoding.EncodeToString(secrets) }

// WebSession returns the session of a cookie with this hash. ErrNotFound when it was revoked
// or has expired.
func (s *Store) WebSession(ctx context.Context, id string, hash []byte) (domain.WebSession, error) {
	var row struct {
		Owner, Hash, Secrets string
		ExpiresAt, RefreshAt int64
		RefreshingUntil      int64
		RetryAt              int64
	}
	err := s.GetContext(ctx, &row, `
SELECT t.owner, t.hash, t.expires_at, w.secrets, w.refresh_at, w.refreshing_until, w.retry_at
FROM web_sessions w
JOIN tokens t ON t.id = w.token_id
WHERE t.id = $1
	AND t.expires_at > $2`, id, s.millis())
	if err != nil {
		return domain.WebSession{}, wrap("read web session", err)
	}
	if subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hex.EncodeToString(hash))) != 1 {
		return domain.WebSession{}, domain.ErrNotFound
	}
	session := domain.WebSession{
		Owner: row.Owner, RefreshAt: fromMillis(row.RefreshAt),
		RefreshingUntil: fromMillis(row.RefreshingUntil), RetryAt: fromMillis(row.RetryAt),
	}
	session.ID, session.Hash, session.ExpiresAt = id, hash, fromMillis(row.ExpiresAt)
	if session.Secrets, err = base64.StdEncoding.DecodeString(row.Secrets); err != nil {
		return session, fmt.Errorf("decode the secrets of a web session: %w", err)
	}
	return session, nil
}

// ClaimRefresh has this process refresh a session that was read, for at most as long as lease,
// and sets the session's claim. One process does at a time.
func (s *Store) ClaimRefresh(ctx context.Context, session *domain.WebSession, lease time.Duration) (claimed bool, err error) {
	now := s.now()
	until := fromMillis(now.Add(lease).UnixMilli())
	err = s.inTx(ctx, "claim the refresh of a web session", func(tx *transaction) error {
		n, err := exec(ctx, tx, `
UPDATE web_sessions
SET refreshing_until = $1
WHERE token_id = $2
	AND refresh_at = $3
	AND refreshing_until <= $4
	AND retry_at <= $4`, until.UnixMilli(), session.ID, session.RefreshAt.UnixMilli(), now.UnixMilli())
		claimed = n > 0
		return err
	})
	if err == nil && claimed {
		session.RefreshingUntil = until
	}
	return claimed, err
}

// RefreshWebSession stores what a refresh changed, and ends its claim. ErrNotFound when the
// claim is not valid any more.
func (s *Store) RefreshWebSession(ctx context.Context, session domain.WebSession) error {
	return s.inTx(ctx, "refresh web session", func(tx *transaction) error {
		return execOne(ctx, tx, `
UPDATE web_sessions
SET secrets = $1,
	refresh_at = $2,
	retry_at = $3,
	refreshing_until = 0
WHERE token_id = $4
	AND refreshing_until = $5`, encodeSecrets(session.Secrets), session.RefreshAt.UnixMilli(), session.RetryAt.UnixMilli(),
			session.ID, session.RefreshingUntil.UnixMilli())
	})
}

// EndWebSession deletes a session that could not be refreshed. ErrNotFound when the claim is
// not valid any more.
func (s *Store) EndWebSession(ctx context.Context, session domain.WebSession) error {
	return s.inTx(ctx, "end web session", func(tx *transaction) error {
		return execOne(ctx, tx, `
DELETE FROM tokens
WHERE id IN (
	SELECT token_id
	FROM web_sessions
	WHERE token_id = $1
		AND refreshing_until = $2
)`, session.ID, session.RefreshingUntil.UnixMilli())
	})
}
