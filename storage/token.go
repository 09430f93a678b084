package storage

import (
	"context"
	"time"
)

// Token is a user's own access token. The token itself is kept nowhere.
type Token struct {
	ID        string
	Name      string
	Access    TokenAccess
	CreatedAt time.Time
	ExpiresAt time.Time
}

// TokenAccess is what a token may be used for.
type TokenAccess string

// A token that reads also asks, and rates what was answered. One that writes
// changes, deletes, renames and clears what it covers, as far as its user may.
// Tokens without restriction write.
const (
	ReadAccess  TokenAccess = "read"
	WriteAccess TokenAccess = "write"
)

// ErrReadOnlyToken is what a caller is answered whose token may read a thing and
// not change it.
var ErrReadOnlyToken error = Errorf(ErrForbidden, "this token is read-only; use one with write access")

// Scope is what one entry of a token's restriction covers: a namespace, or one
// dataset in it, by its name. The token holds to what has that name when the
// token is created.
type Scope struct {
	Owner     string
	Namespace string
	// Dataset is "" for the whole namespace.
	Dataset string
}

// TokenPermissions is what a token covers, by the names of now, without what its
// user may no longer see.
type TokenPermissions struct {
	Restricted bool
	Access     TokenAccess
	Scopes     []Scope
}

// NewToken is a token to be kept. Hash is the SHA-256 of the token's text.
type NewToken struct {
	Token
	Hash       []byte
	Restricted bool
	// Scopes is what a restricted token covers.
	Scopes []Scope
}

// Tokens keeps users' own tokens. A restricted token cannot manage tokens:
// ErrForbidden.
type Tokens interface {
	// CreateToken is ErrInvalid for a scope that the caller cannot see.
	CreateToken(ctx context.Context, caller Caller, token NewToken) error
	// Tokens lists the caller's, newest first.
	Tokens(ctx context.Context, caller Caller) ([]Token, error)
	TokenPermissions(ctx context.Context, caller Caller, id string) (TokenPermissions, error)
	// DeleteToken ends a token: it is refused from then on.
	DeleteToken(ctx context.Context, caller Caller, id string) error
	// TokenCaller gives whom a token speaks for. ErrNotFound when there is no
	// such token of that text any more.
	TokenCaller(ctx context.Context, id string, hash []byte) (Caller, error)
	// RevokedTokens gives those of some tokens, by id, that do not exist any more.
	RevokedTokens(ctx context.Context, ids []string) ([]string, error)
	// SigningKey gives the key that something is signed with, the same on every
	// replica, made on first use.
	SigningKey(ctx context.Context, purpose KeyPurpose) ([]byte, error)
}

// KeyPurpose is what a key signs.
type KeyPurpose string

// What is signed: users' own tokens, the addresses of uploads, and agent cards.
const (
	KeyForTokens  KeyPurpose = "user-token"
	KeyForUploads KeyPurpose = "upload-url"
	KeyForCards   KeyPurpose = "agent-card"
)
