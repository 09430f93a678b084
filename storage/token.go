package storage

import (
	"context"
	"time"
)

// Token is a user's own access token. The token itself is kept nowhere.
type Token struct {
	ID        string
	Name      string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Scope is what one entry of a token's restriction covers: a namespace, or one
// dataset in it. It goes by name, not by the thing that bears the name now.
type Scope struct {
	Owner     string
	Namespace string
	// Dataset is "" for the whole namespace.
	Dataset string
}

// TokenPermissions is what a token covers.
type TokenPermissions struct {
	Restricted bool
	Scopes     []Scope
}

// NewToken is a token to be kept. Hash is the SHA-256 of the token's text.
type NewToken struct {
	Token
	Hash        []byte
	Permissions TokenPermissions
}

// Tokens keeps users' own tokens. A restricted token cannot manage tokens:
// ErrForbidden.
type Tokens interface {
	CreateToken(ctx context.Context, caller Caller, token NewToken) error
	// Tokens lists the caller's, newest first.
	Tokens(ctx context.Context, caller Caller) ([]Token, error)
	TokenPermissions(ctx context.Context, caller Caller, id string) (TokenPermissions, error)
	// DeleteToken ends a token: it is refused from then on.
	DeleteToken(ctx context.Context, caller Caller, id string) error
	// TokenCaller gives whom a token speaks for. ErrNotFound when there is no
	// such token of that text any more.
	TokenCaller(ctx context.Context, id string, hash []byte) (Caller, error)
	// SigningKey gives the key that something is signed with, the same on every
	// replica, made on first use.
	SigningKey(ctx context.Context, purpose KeyPurpose) ([]byte, error)
}

// KeyPurpose is what a key signs.
type KeyPurpose string

// What is signed: users' own tokens, and the addresses of uploads.
const (
	KeyForTokens  KeyPurpose = "user-token"
	KeyForUploads KeyPurpose = "upload-url"
)
