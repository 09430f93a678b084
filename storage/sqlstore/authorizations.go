package sqlstore

import (
	"cmp"
	"context"
	"encoding/hex"

	"parley/internal/domain"
)

// CreateAuthorization stores what the caller allows an application, with its token. It is ErrTooMany
// beyond domain.MaxTokens, and ErrForbidden for a restricted token.
func (s *Store) CreateAuthorization(ctx context.Context, caller domain.Caller, a domain.Authorization) error {
	if err := mayManageTokens(caller); err != nil {
		return err
	}
	return s.inOwnerTx(ctx, "create authorization", caller.Username, func(tx *transaction) error {
		if err := s.mayHaveToken(ctx, tx, caller.Username); err != nil {
			return err
		}
		if err := insertToken(ctx, tx, caller.Username, a.NewToken); err != nil {
			return err
		}
		_, err := exec(ctx, tx, `
INSERT INTO authorizations (token_id, client, redirect, challenge, secret)
VALUES ($1, $2, $3, $4, $5)`, a.ID, a.Client, a.Redirect, a.Challenge, hex.EncodeToString(a.Secret))
		return err
	})
}

// Authorization returns the authorization of a token that has not expired, to the one who knows the
// secret of its generation. ErrNotFound when there is none. One of an earlier generation was used:
// somebody else has it, so that the authorization ends, and the error is ErrConflict.
func (s *Store) Authorization(ctx context.Context, id string, generation int64, secret []byte) (domain.Authorization, error) {
	var row struct {
		Owner, Client, Redirect, Challenge, Secret string
		Generation                                 int64
	}
	err := s.GetContext(ctx, &row, `
SELECT t.owner, a.client, a.redirect, a.challenge, a.secret, a.generation
FROM authorizations a
JOIN tokens t ON t.id = a.token_id
WHERE a.token_id = $1
	AND t.expires_at > $2`, id, s.millis())
	switch {
	case err != nil:
		return domain.Authorization{}, wrap("read authorization", err)
	case generation < row.Generation:
		return domain.Authorization{}, cmp.Or(s.EndAuthorization(ctx, id), domain.ErrConflict)
	case generation > row.Generation || hex.EncodeToString(secret) != row.Secret:
		return domain.Authorization{}, domain.ErrNotFound
	}
	a := domain.Authorization{Owner: row.Owner, Client: row.Client, Redirect: row.Redirect, Challenge: row.Challenge, Secret: secret, Generation: generation}
	a.ID = id
	return a, nil
}

// RenewAuthorization gives an authorization, as it was read, another token and another secret. It is
// ErrNotFound when somebody was faster.
func (s *Store) RenewAuthorization(ctx context.Context, a domain.Authorization, token domain.NewToken, secret []byte) error {
	return s.inTx(ctx, "renew authorization", func(tx *transaction) error {
		err := execOne(ctx, tx, `
UPDATE authorizations
SET secret = $1, generation = generation + 1, redirect = '', challenge = ''
WHERE token_id = $2 AND secret = $3`, hex.EncodeToString(secret), a.ID, hex.EncodeToString(a.Secret))
		if err != nil {
			return err
		}
		return execOne(ctx, tx, `UPDATE tokens SET hash = $1, expires_at = $2 WHERE id = $3`, hex.EncodeToString(token.Hash), token.ExpiresAt.UnixMilli(), a.ID)
	})
}

// EndAuthorization revokes the token of an application.
func (s *Store) EndAuthorization(ctx context.Context, id string) error {
	return s.execTx(ctx, "end authorization", `DELETE FROM tokens WHERE id = $1 AND id IN (SELECT token_id FROM authorizations)`, id)
}
