package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"

	"github.com/jmoiron/sqlx"

	"parley/storage"
)

type tokenRow struct {
	ID        string `db:"id"`
	Name      string `db:"name"`
	CreatedAt int64  `db:"created_at"`
	ExpiresAt int64  `db:"expires_at"`
}

// mayManageTokens keeps a restricted token from making itself a wider one.
func mayManageTokens(caller storage.Caller) error {
	if caller.Restricted() {
		return storage.Errorf(storage.ErrForbidden, "a restricted token cannot manage tokens")
	}
	return nil
}

// CreateToken implements storage.Tokens.
func (s *Store) CreateToken(ctx context.Context, caller storage.Caller, token storage.NewToken) error {
	if err := mayManageTokens(caller); err != nil {
		return err
	}
	return s.inTx(ctx, "create token", func(tx *sqlx.Tx) error {
		_, err := exec(ctx, tx, `
INSERT INTO tokens (id, owner, name, hash, restricted, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			token.ID, caller.Username, token.Name, hex.EncodeToString(token.Hash), token.Permissions.Restricted,
			token.CreatedAt.UnixMilli(), token.ExpiresAt.UnixMilli())
		if err != nil {
			return err
		}
		for i, scope := range token.Permissions.Scopes {
			_, err := exec(ctx, tx, `
INSERT INTO token_scopes (token_id, position, owner, namespace, dataset)
VALUES ($1, $2, $3, $4, $5)`, token.ID, i, scope.Owner, scope.Namespace, scope.Dataset)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// Tokens implements storage.Tokens.
func (s *Store) Tokens(ctx context.Context, caller storage.Caller) ([]storage.Token, error) {
	if err := mayManageTokens(caller); err != nil {
		return nil, err
	}
	const query = `
SELECT id, name, created_at, expires_at
FROM tokens
WHERE owner = $1
ORDER BY created_at DESC, id DESC`
	var rows []tokenRow
	if err := s.SelectContext(ctx, &rows, query, caller.Username); err != nil {
		return nil, fmt.Errorf("list tokens: %w", classify(err))
	}
	tokens := make([]storage.Token, len(rows))
	for i, row := range rows {
		tokens[i] = storage.Token{
			ID:        row.ID,
			Name:      row.Name,
			CreatedAt: fromMillis(row.CreatedAt),
			ExpiresAt: fromMillis(row.ExpiresAt),
		}
	}
	return tokens, nil
}

// TokenPermissions implements storage.Tokens.
func (s *Store) TokenPermissions(ctx context.Context, caller storage.Caller, id string) (storage.TokenPermissions, error) {
	var permissions storage.TokenPermissions
	if err := mayManageTokens(caller); err != nil {
		return permissions, err
	}
	err := s.GetContext(ctx, &permissions.Restricted, `
SELECT restricted
FROM tokens
WHERE id = $1
	AND owner = $2`, id, caller.Username)
	if err != nil {
		return permissions, fmt.Errorf("read token: %w", classify(err))
	}
	err = s.SelectContext(ctx, &permissions.Scopes, `
SELECT owner, namespace, dataset
FROM token_scopes
WHERE token_id = $1
ORDER BY position`, id)
	if err != nil {
		return permissions, fmt.Errorf("read token's scopes: %w", classify(err))
	}
	return permissions, nil
}

// DeleteToken implements storage.Tokens.
func (s *Store) DeleteToken(ctx context.Context, caller storage.Caller, id string) error {
	if err := mayManageTokens(caller); err != nil {
		return err
	}
	return s.inTx(ctx, "delete token", func(tx *sqlx.Tx) error {
		return execOne(ctx, tx, `DELETE FROM tokens WHERE id = $1 AND owner = $2`, id, caller.Username)
	})
}

// TokenCaller implements storage.Tokens.
func (s *Store) TokenCaller(ctx context.Context, id string, hash []byte) (storage.Caller, error) {
	var row struct {
		Owner      string `db:"owner"`
		Hash       string `db:"hash"`
		Restricted bool   `db:"restricted"`
	}
	if err := s.GetContext(ctx, &row, `SELECT owner, hash, restricted FROM tokens WHERE id = $1`, id); err != nil {
		return storage.Caller{}, fmt.Errorf("read token: %w", classify(err))
	}
	if subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hex.EncodeToString(hash))) != 1 {
		return storage.Caller{}, storage.ErrNotFound
	}
	caller := storage.Caller{Username: row.Owner}
	if row.Restricted {
		caller.Restriction = id
	}
	return caller, nil
}

// SigningKey implements storage.Tokens.
func (s *Store) SigningKey(ctx context.Context, purpose storage.KeyPurpose) ([]byte, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	var kept string
	err := s.inTx(ctx, "read signing key", func(tx *sqlx.Tx) error {
		_, err := exec(ctx, tx, `
INSERT INTO signing_keys (purpose, secret, created_at)
VALUES ($1, $2, $3)
ON CONFLICT (purpose) DO NOTHING`, purpose, base64.StdEncoding.EncodeToString(key), s.millis())
		if err != nil {
			return err
		}
		return tx.GetContext(ctx, &kept, `SELECT secret FROM signing_keys WHERE purpose = $1`, purpose)
	})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(kept)
}
