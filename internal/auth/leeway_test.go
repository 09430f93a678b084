package auth_test

import (
	"testing"
	"time"

	"parley/internal/auth"
)

// A token may come from a clock that is 30 seconds ahead; it ends at its `exp`,
// to the nanosecond, whether or not it is remembered.
func TestLeeway(t *testing.T) {
	t.Parallel()
	const notYet, expired = "the token is not valid yet", "the token has expired"
	at := time.Now().Truncate(time.Second)
	for name, test := range map[string]struct {
		claims  map[string]any
		clock   time.Time
		refused string
	}{
		"before exp":           {map[string]any{"exp": at.Unix()}, at.Add(-time.Nanosecond), ""},
		"at exp":               {map[string]any{"exp": at.Unix()}, at, expired},
		"after exp":            {map[string]any{"exp": at.Unix()}, at.Add(29 * time.Second), expired},
		"30 seconds of nbf":    {map[string]any{"nbf": at.Unix()}, at.Add(-30 * time.Second), ""},
		"more than 30 for nbf": {map[string]any{"nbf": at.Unix()}, at.Add(-30*time.Second - time.Nanosecond), notYet},
		"30 seconds of iat":    {map[string]any{"iat": at.Unix()}, at.Add(-30 * time.Second), ""},
		"more than 30 for iat": {map[string]any{"iat": at.Unix()}, at.Add(-30*time.Second - time.Nanosecond), notYet},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := at.Add(-30 * time.Second)
			a := open(t, auth.Config{Secret: secret, Now: func() time.Time { return now }})
			token := signed("HS256", secret, with(map[string]any{"sub": "alice", "exp": at.Add(time.Hour).Unix()}, test.claims))
			if test.refused != notYet {
				wantCaller(t, a, token, aliceCaller) // and remembered
			}
			fresh := open(t, auth.Config{Secret: secret, Now: func() time.Time { return now }})
			now = test.clock
			for _, a := range []*auth.Authenticator{a, fresh} {
				if test.refused == "" {
					wantCaller(t, a, token, aliceCaller)
				} else {
					wantRefused(t, a, token, test.refused)
				}
			}
		})
	}
}
