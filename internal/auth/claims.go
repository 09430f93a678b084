package auth

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"parley/internal/domain"
)

// Users records what tokens say about their users.
type Users interface {
	// SetUserClaims records it unless a newer token has said something else.
	SetUserClaims(ctx context.Context, said domain.UserClaims) error
}

// maxClaims limits the values that are recorded of a token, maxClaimValue the characters of one.
const (
	maxClaims     = 1000
	maxClaimValue = 256
)

// userClaims records the claims that shares and row rules use. So they also hold for work in
// the background and for users' own tokens.
type userClaims struct {
	users Users
	names []string // the first has the groups
	now   func() time.Time
}

func newUserClaims(cfg Config) *userClaims {
	return &userClaims{cfg.Users, cfg.Claims, cfg.Now}
}

// record records what a verified token says. A claim that it lacks has no value. A token without
// iat says nothing.
func (u *userClaims) record(ctx context.Context, username string, claims jwt.MapClaims) error {
	issued, err := claims.GetIssuedAt()
	if u.users == nil || err != nil || issued == nil {
		return nil // it cannot be said what is newer
	}
	said := domain.UserClaims{Username: username, IssuedAt: issued.Time}
	if now := u.now(); said.IssuedAt.After(now) {
		said.IssuedAt = now
	}
	for i, name := range u.names {
		for _, value := range claimValues(claims[name]) {
			claim := domain.UserClaim{Claim: name, Value: value}
			if i == 0 {
				claim.Grantee = domain.NormalizeUsername(domain.GroupPrefix + value)
				if domain.CheckGrantee(claim.Grantee) != "" {
					continue
				}
			}
			if said.Claims = append(said.Claims, claim); len(said.Claims) >= maxClaims {
				break
			}
		}
	}
	if err := u.users.SetUserClaims(ctx, said); err != nil {
		return fmt.Errorf("record what a token says about its user: %w", err)
	}
	return nil
}

// claimValues returns the texts and numbers of a claim, which is one or a list of them.
func claimValues(claim any) (values []string) {
	list, isList := claim.([]any)
	if !isList {
		list = []any{claim}
	}
	for _, value := range list {
		var text string
		switch value := value.(type) {
		case string:
			text = value
		case float64:
			text = strconv.FormatFloat(value, 'f', -1, 64)
		}
		if text != "" && domain.CheckText(text, maxClaimValue) == "" {
			values = append(values, text)
		}
	}
	return values
}

// Claims are the claims that are recorded.
func (a *Authenticator) Claims() []string { return a.users.names }
