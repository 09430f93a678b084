package domain

// Authorization lets an application act for a user. It is one of the user's tokens, whose text
// changes with each renewal.
type Authorization struct {
	NewToken
	Owner string
	// Client is the hash of the application's id. Redirect and Challenge belong to the code with
	// which it gets its first token.
	Client, Redirect, Challenge string
	// Secret is the hash of what the next token is got with: a code, then a refresh token.
	// Generation counts them.
	Secret     []byte
	Generation int64
}
