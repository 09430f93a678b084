package domain

import "time"

// Token is a user's own access token. The token itself is not stored.
type Token struct {
	ID        string
	Name      string
	Access    TokenAccess
	CreatedAt time.Time
	ExpiresAt time.Time
	// Restricted says that the token covers only Scopes: by the names of now, without what
	// its user may no longer see.
	Restricted bool
	Scopes     []Scope
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

// ErrReadOnlyToken is the error for a caller whose token may read something, but not change
// it.
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

// MaxTokens is how many tokens that have not expired one user may have created.
const MaxTokens = 100

// NewToken is a token to be stored. Hash is the SHA-256 of the token's text.
type NewToken struct {
	Token
	Hash []byte
}

// KeyPurpose is what a key is for.
type KeyPurpose string

// Keys sign users' own tokens, the addresses of uploads, agent cards and the ids of applications, and
// encrypt the secrets of push configs.
const (
	KeyForTokens  KeyPurpose = "user-token"
	KeyForUploads KeyPurpose = "upload-url"
	KeyForCards   KeyPurpose = "agent-card"
	KeyForPush    KeyPurpose = "push-secret"
	KeyForClients KeyPurpose = "oauth-client"
)
