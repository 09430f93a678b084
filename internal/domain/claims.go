package domain

import "time"

// UserClaims is what a token of the authority says about its user, besides the name.
type UserClaims struct {
	Username string
	// IssuedAt is when the token was issued. What the newest token says holds.
	IssuedAt time.Time
	Claims   []UserClaim
}

// UserClaim is one value of a claim.
type UserClaim struct {
	Claim, Value string
	// Grantee is the name in shares of the group that the value is; "" if it is none.
	Grantee string
}
