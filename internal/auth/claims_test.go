package auth_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/internal/auth"
	"parley/internal/domain"
)

// heard has what was said last about each user.
type heard struct {
	said map[string]domain.UserClaims
	err  error
}

func (h *heard) SetUserClaims(_ context.Context, said domain.UserClaims) error {
	h.said[said.Username] = said
	return h.err
}

func TestUserClaims(t *testing.T) {
	t.Parallel()
	now := time.Now().Truncate(time.Second)
	group := func(value, grantee string) domain.UserClaim {
		return domain.UserClaim{Claim: "groups", Value: value, Grantee: grantee}
	}
	for name, test := range map[string]struct {
		claims map[string]any
		want   []domain.UserClaim
		issued time.Time
	}{
		"nothing said": {nil, nil, now},
		"a list": {map[string]any{"groups": []string{"Sales", "/staff/North Sea"}},
			[]domain.UserClaim{group("Sales", "group:sales"), group("/staff/North Sea", "group:/staff/north sea")}, now},
		"one":          {map[string]any{"groups": "sales"}, []domain.UserClaim{group("sales", "group:sales")}, now},
		"other claims": {map[string]any{"region": "South", "level": 7}, []domain.UserClaim{{Claim: "region", Value: "South"}, {Claim: "level", Value: "7"}}, now},
		"other types":  {map[string]any{"groups": []any{map[string]any{"a": 1}, nil, true, "", " a", "b\x00", "\u202esales", strings.Repeat("x", 300)}, "region": map[string]any{}}, nil, now},
		"not listed":   {map[string]any{"country": "fr"}, nil, now},
		"earlier":      {map[string]any{"groups": "a", "iat": now.Add(-time.Hour).Unix()}, []domain.UserClaim{group("a", "group:a")}, now.Add(-time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			users := &heard{said: map[string]domain.UserClaims{}}
			a := open(t, auth.Config{Secret: secret, Users: users, Claims: []string{"groups", "region", "level"}, Now: func() time.Time { return now }})
			token := signed("HS256", secret, with(alice(""), map[string]any{"iat": now.Unix()}, test.claims))
			wantCaller(t, a, token, aliceCaller)
			want := domain.UserClaims{Username: "alice", IssuedAt: test.issued, Claims: test.want}
			if diff := cmp.Diff(want, users.said["alice"]); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A user who calls himself like a group would get what is shared with it.
func TestUserNamedLikeGroup(t *testing.T) {
	t.Parallel()
	a := open(t, auth.Config{Secret: secret})
	token := signed("HS256", secret, with(alice(""), map[string]any{"preferred_username": "Group:sales"}))
	wantRefused(t, a, token, "the token's username must not begin with 'group:', which stands for a group of users")
}

// Without a record of what a token says, groups that it no longer has could still count.
func TestClaimsNotRecorded(t *testing.T) {
	t.Parallel()
	users := &heard{said: map[string]domain.UserClaims{}, err: errors.New("disk full")}
	a := open(t, auth.Config{Secret: secret, Users: users, Claims: []string{"groups"}})
	if _, err := a.Session(t.Context(), signed("HS256", secret, alice(""))); !errors.Is(err, users.err) {
		t.Errorf("got %v, want that of the store", err)
	}
}
