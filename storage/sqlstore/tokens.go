package sqlstore

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"

	"parley/internal/domain"
)

type tokenRow struct {
	domain.Token
	CreatedAt int64
	ExpiresAt int64
}

func (r tokenRow) token() domain.Token {
	r.Token.CreatedAt, r.Token.ExpiresAt = fromMillis(r.CreatedAt), fromMillis(r.ExpiresAt)
	return r.Token
}

// mayManageTokens keeps a restricted token and an application from getting one with more rights.
func mayManageTokens(caller domain.Caller) error { return needsUser(caller, "manage tokens") }

// needsUser refuses a restricted token and an application: what they did would outlive them.
func needsUser(caller domain.Caller, what string) error {
	switch {
	case caller.Restricted():
		return domain.Errorf(domain.ErrForbidden, "a restricted token cannot %s", what)
	case caller.Application != "":
		return domain.Errorf(domain.ErrForbidden, "the token of an application cannot %s", what)
	}
	return nil
}

// CreateToken is ErrInvalid for a scope that the caller cannot see, and ErrTooMany beyond
// domain.MaxTokens.
func (s *Store) CreateToken(ctx context.Context, caller domain.Caller, token domain.NewToken) error {
	if err := mayManageTokens(caller); err != nil {
		return err
	}
	return s.inOwnerTx(ctx, "create token", caller.Username, func(tx *transaction) error {
		if err := s.mayHaveToken(ctx, tx, caller.Username); err != nil {
			return err
		}
		targets, err := tokenTargets(ctx, tx, caller, token.Scopes)
		if err != nil {
			return err
		}
		if err := insertToken(ctx, tx, caller.Username, token); err != nil {
			return err
		}
		for i, target := range targets {
			_, err := exec(ctx, tx, `
INSERT INTO token_targets (token_id, position, namespace_id, dataset_id)
VALUES ($1, $2, $3, $4)`, token.ID, i, target.namespaceID, target.datasetID)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// mayHaveToken removes a user's expired tokens. It is ErrTooMany for a user with domain.MaxTokens.
func (s *Store) mayHaveToken(ctx context.Context, tx *transaction, owner string) error {
	if _, err := exec(ctx, tx, `DELETE FROM tokens WHERE owner = $1 AND expires_at <= $2`, owner, s.millis()); err != nil {
		return err
	}
	var count int
	if err := tx.GetContext(ctx, &count, `SELECT COUNT(*) FROM tokens WHERE owner = $1 AND id NOT IN (SELECT token_id FROM web_sessions)`, owner); err != nil {
		return err
	}
	if count >= domain.MaxTokens {
		return domain.Errorf(domain.ErrTooMany, "you have %d tokens, which is the most; delete one", count)
	}
	return nil
}

func insertToken(ctx context.Context, tx *transaction, owner string, token domain.NewToken) error {
	_, err := exec(ctx, tx, `
INSERT INTO tokens (id, owner, name, hash, restricted, access, created_at, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
		token.ID, owner, token.Name, hex.EncodeToString(token.Hash), token.Restricted, token.Access,
		token.CreatedAt.UnixMilli(), token.ExpiresAt.UnixMilli())
	return err
}

// tokenTarget is what a scope means: a namespace, or a dataset in it.
type tokenTarget struct {
	namespaceID string
	datasetID   sql.NullString
}

// tokenTargets finds what scopes mean now, so that the token does not cover what
// gets their names later. It lists every scope that means nothing to the caller.
func tokenTargets(ctx context.Context, tx *transaction, caller domain.Caller, scopes []domain.Scope) ([]tokenTarget, error) {
	var wrong []domain.FieldError
	targets := make([]tokenTarget, len(scopes))
	for i, scope := range scopes {
		var err error
		if targets[i], err = findTarget(ctx, tx, caller, scope); errors.Is(err, sql.ErrNoRows) {
			wrong = append(wrong, domain.FieldError{
				Field: fmt.Sprintf("accessRestrictedTo[%d]", i), Message: "is not a namespace or dataset that exists and that you may see",
			})
		} else if err != nil {
			return nil, err
		}
	}
	if len(wrong) > 0 {
		return nil, domain.Invalid(wrong...)
	}
	return targets, nil
}

func findTarget(ctx context.Context, q queryer, caller domain.Caller, scope domain.Scope) (tokenTarget, error) {
	if scope.Dataset == "" {
		found, err := findNamespace(ctx, q, caller, domain.NamespaceRef{Owner: scope.Owner, Name: scope.Namespace})
		return tokenTarget{namespaceID: found.ID}, err
	}
	found, err := findDataset(ctx, q, caller, domain.DatasetRef{Owner: scope.Owner, Namespace: scope.Namespace, Name: scope.Dataset})
	return tokenTarget{namespaceID: found.NamespaceID, datasetID: sql.NullString{String: found.ID, Valid: true}}, err
}

// Tokens lists the caller's, newest first.
func (s *Store) Tokens(ctx context.Context, caller domain.Caller) ([]domain.Token, error) {
	return s.tokens(ctx, caller, "")
}

// Token returns one of the caller's tokens. A restricted token reads itself alone.
func (s *Store) Token(ctx context.Context, caller domain.Caller, id string) (domain.Token, error) {
	found, err := s.tokens(ctx, caller, id)
	if err != nil {
		return domain.Token{}, err
	}
	if len(found) == 0 {
		return domain.Token{}, domain.ErrNotFound
	}
	return found[0], nil
}

// tokens lists the caller's tokens, newest first, or the one with an id.
func (s *Store) tokens(ctx context.Context, caller domain.Caller, id string) ([]domain.Token, error) {
	if err := mayManageTokens(caller); err != nil && (id == "" || id != caller.Restriction) {
		return nil, err
	}
	const query = `
SELECT id, name, access, restricted, created_at, expires_at
FROM tokens
WHERE owner = $1
	AND ($2 = '' OR id = $2)
ORDER BY created_at DESC, id DESC`
	var rows []tokenRow
	if err := s.SelectContext(ctx, &rows, query, caller.Username, id); err != nil {
		return nil, wrap("list tokens", err)
	}
	var scopes []struct {
		TokenID string
		domain.Scope
	}
	if err := tokenScopes.list(ctx, s, &scopes, by(caller, args{"token": id})); err != nil {
		return nil, wrap("read what tokens cover", err)
	}
	covered := map[string][]domain.Scope{}
	for _, scope := range scopes {
		covered[scope.TokenID] = append(covered[scope.TokenID], scope.Scope)
	}
	return each(rows, func(row tokenRow) domain.Token {
		row.Scopes = covered[row.ID]
		return row.token()
	}), nil
}

// DeleteToken revokes a token: it is refused from then on.
func (s *Store) DeleteToken(ctx context.Context, caller domain.Caller, id string) error {
	if err := mayManageTokens(caller); err != nil {
		return err
	}
	return s.inTx(ctx, "delete token", func(tx *transaction) error {
		return execOne(ctx, tx, `DELETE FROM tokens WHERE id = $1 AND owner = $2`, id, caller.Username)
	})
}

// TokenCaller returns the caller that a token is for. ErrNotFound when there is no such token
// of that text any more.
func (s *Store) TokenCaller(ctx context.Context, id string, hash []byte) (domain.Caller, error) {
	var row struct {
		Owner       string
		Hash        string
		Restricted  bool
		Application bool
	}
	const query = `
SELECT owner, hash, restricted, EXISTS (SELECT 1 FROM authorizations WHERE token_id = t.id) AS application
FROM tokens t
WHERE id = $1`
	if err := s.GetContext(ctx, &row, query, id); err != nil {
		return domain.Caller{}, wrap("read token", err)
	}
	if subtle.ConstantTimeCompare([]byte(row.Hash), []byte(hex.EncodeToString(hash))) != 1 {
		return domain.Caller{}, domain.ErrNotFound
	}
	caller := domain.Caller{Username: row.Owner}
	if row.Restricted {
		caller.Restriction = id
	}
	if row.Application {
		caller.Application = id
	}
	return caller, nil
}

// RevokedTokens returns those of some tokens, by id, that do not exist any more.
func (s *Store) RevokedTokens(ctx context.Context, ids []string) ([]string, error) {
	return s.missing(ctx, `SELECT id FROM tokens WHERE id IN (:values)`, ids)
}

// SigningKey returns the key that something is signed with, the same on every replica, made
// on first use.
func (s *Store) SigningKey(ctx context.Context, purpose domain.KeyPurpose) ([]byte, error) {
	key := make([]byte, 32)
	if _, err := rand.Read(key); err != nil {
		return nil, fmt.Errorf("make signing key: %w", err)
	}
	var stored string
	err := s.inTx(ctx, "read signing key", func(tx *transaction) error {
		_, err := exec(ctx, tx, `
INSERT INTO signing_keys (purpose, secret, created_at)
VALUES ($1, $2, $3)
ON CONFLICT (purpose) DO NOTHING`, purpose, base64.StdEncoding.EncodeToString(key), s.millis())
		if err != nil {
			return err
		}
		return tx.GetContext(ctx, &stored, `SELECT secret FROM signing_keys WHERE purpose = $1`, purpose)
	})
	if err != nil {
		return nil, err
	}
	return base64.StdEncoding.DecodeString(stored)
}
