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

// maxClaimValue limits the characters of a value that is recorded.
const maxClaimValue = 256

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

// record records what a verified token says. A claim that it lacks has no value.
func (u *userClaims) record(ctx context.Context, username string, claims jwt.MapClaims) error {
	if u.users == nil {
		return nil
	}
	said := domain.UserClaims{Username: username}
	if issued, err := claims.GetIssuedAt(); err == nil && issued != nil {
		said.IssuedAt = issued.Time
	}
	if now := u.now(); said.IssuedAt.IsZero() || said.IssuedAt.After(now) {
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
			said.Claims = append(said.Claims, claim)
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
