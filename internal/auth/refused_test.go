package auth_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"parley/internal/auth"
	"parley/internal/domain"
)

const (
	malformed = "the token is malformed"
	noUser    = "the token names no user"
	lacking   = "the token lacks a required claim"
	wrongType = "a claim of the token has the wrong type"
)

func TestRefusedClaims(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	a := open(t, auth.Config{Issuer: provider.issuer, Audience: "parley", HTTPClient: provider.client()})
	in := func(d time.Duration) any { return time.Now().Add(d).Unix() }
	tests := map[string]struct {
		changes map[string]any
		message string
	}{
		"expired":                              {map[string]any{"exp": in(-time.Hour)}, "the token has expired"},
		"expired just now":                     {map[string]any{"exp": in(-time.Second)}, "the token has expired"},
		"expired before it was":                {map[string]any{"exp": -5}, "the token has expired"},
		"expires beyond time":                  {map[string]any{"exp": 1e300}, "the token's exp is too large; it is in seconds since 1970"},
		"without expiry":                       {map[string]any{"exp": nil}, lacking},
		"expiry zero":                          {map[string]any{"exp": 0}, lacking},
		"expiry as text":                       {map[string]any{"exp": "9999999999"}, wrongType},
		"expiry as list":                       {map[string]any{"exp": []int{1}}, wrongType},
		"not yet valid":                        {map[string]any{"nbf": in(time.Minute)}, "the token is not valid yet"},
		"nbf as text":                          {map[string]any{"nbf": "0"}, wrongType},
		"issued in the future":                 {map[string]any{"iat": in(time.Minute)}, "the token is not valid yet"},
		"another issuer":                       {map[string]any{"iss": "https://evil.example"}, "the token comes from another issuer"},
		"issuer with a slash":                  {map[string]any{"iss": provider.issuer + "/"}, "the token comes from another issuer"},
		"no issuer":                            {map[string]any{"iss": nil}, lacking},
		"issuer as list":                       {map[string]any{"iss": []string{provider.issuer}}, wrongType},
		"another audience":                     {map[string]any{"aud": "other"}, "the token is meant for another audience"},
		"other audiences":                      {map[string]any{"aud": []string{"other", "Parley"}}, "the token is meant for another audience"},
		"no audience":                          {map[string]any{"aud": nil}, lacking},
		"empty audience":                       {map[string]any{"aud": []string{}}, lacking},
		"audience a number":                    {map[string]any{"aud": 7}, lacking},
		"audiences mixed":                      {map[string]any{"aud": []any{"parley", 7}}, wrongType},
		"no username":                          {map[string]any{"preferred_username": nil, "sub": nil}, noUser},
		"empty username":                       {map[string]any{"preferred_username": ""}, "the token's username must not be empty"},
		"username a number":                    {map[string]any{"preferred_username": 7}, noUser},
		"username a list":                      {map[string]any{"preferred_username": []string{"alice"}}, noUser},
		"username an object":                   {map[string]any{"preferred_username": map[string]string{"name": "alice"}}, noUser},
		"username self":                        {map[string]any{"preferred_username": "self"}, "the token's username must not be 'self', which stands for the acting user"},
		"username Self":                        {map[string]any{"preferred_username": "SELF"}, "the token's username must not be 'self', which stands for the acting user"},
		"username with slash":                  {map[string]any{"preferred_username": "a/b"}, "the token's username must not hold blanks, control characters or '/'"},
		"username with blank":                  {map[string]any{"preferred_username": "a b"}, "the token's username must not hold blanks, control characters or '/'"},
		"username with an invisible character": {map[string]any{"preferred_username": "alice\u200b"}, "the token's username must not hold invisible characters"},
		"username too long":                    {map[string]any{"preferred_username": strings.Repeat("a", 257)}, "the token's username must be at most 256 characters"},
		"subject self":                         {map[string]any{"preferred_username": nil, "sub": "self"}, "the token's username must not be 'self', which stands for the acting user"},
		"a user's own token":                   {map[string]any{"iss": "parley/user-token"}, badAlgorithm},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, a, one().token(with(alice(provider.issuer), test.changes)), test.message)
		})
	}
}

func TestAcceptedClaims(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	cfg := auth.Config{Issuer: provider.issuer, Audience: "parley", HTTPClient: provider.client()}
	usual := open(t, cfg)
	cfg.UsernameClaim = "email"
	byEmail := open(t, cfg)
	in := func(d time.Duration) any { return time.Now().Add(d).Unix() }
	tests := map[string]struct {
		changes        map[string]any
		usual, byEmail string
	}{
		"usual":             {nil, "alice", ""},
		"taken apart":       {map[string]any{"preferred_username": "Jose\u0301"}, "jos\u00e9", ""},
		"subject":           {map[string]any{"preferred_username": nil, "sub": "Bob"}, "bob", ""},
		"email":             {map[string]any{"email": "Alice@Example.org"}, "alice", "alice@example.org"},
		"only email":        {map[string]any{"preferred_username": nil, "sub": nil, "email": "a@b"}, "", "a@b"},
		"audiences":         {map[string]any{"aud": []string{"other", "parley"}}, "alice", ""},
		"clock ahead":       {map[string]any{"nbf": in(20 * time.Second), "iat": in(20 * time.Second)}, "alice", ""},
		"time in fractions": {map[string]any{"exp": float64(time.Now().Unix()) + 3600.5}, "alice", ""},
		"only what counts":  {map[string]any{"iat": nil, "sub": nil}, "alice", ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			token := one().token(with(alice(provider.issuer), test.changes))
			for a, want := range map[*auth.Authenticator]string{usual: test.usual, byEmail: test.byEmail} {
				if want == "" {
					wantRefused(t, a, token, noUser)
				} else {
					wantCaller(t, a, token, domain.Caller{Username: want})
				}
			}
		})
	}
}

func TestRefusedForms(t *testing.T) {
	t.Parallel()
	provider := startIDP(t, one().jwk())
	a := open(t, auth.Config{Issuer: provider.issuer, Audience: "parley", HTTPClient: provider.client()})
	claims := alice(provider.issuer)
	good := one().token(claims)
	wantCaller(t, a, good, aliceCaller)
	header, rest, _ := strings.Cut(good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	last := map[byte]byte{'A': 'B', 'Q': 'R', 'g': 'h', 'w': 'x'}[signature[len(signature)-1]]
	body := string(must(json.Marshal(claims)))
	tests := map[string]struct{ token, message string }{
		"empty":               {"", malformed},
		"dots":                {"..", malformed},
		"one part":            {"garbage", malformed},
		"two parts":           {header + "." + payload, malformed},
		"four parts":          {good + ".x", malformed},
		"five parts":          {good + "." + payload + "." + signature, malformed},
		"JWE":                 {unsigned(`{"alg":"RSA-OAEP","enc":"A256GCM"}`, "key", "iv") + ".text.tag", malformed},
		"binary":              {"\x00\xff.\x00.\x00", malformed},
		"blank around":        {" " + good, malformed},
		"line break inside":   {header + ".\n" + payload + "." + signature, malformed},
		"padded":              {header + "." + payload + "." + signature + "==", malformed},
		"stray last bits":     {good[:len(good)-1] + string(last), malformed},
		"header not JSON":     {unsigned("x", body, "x"), malformed},
		"header a list":       {unsigned("[]", body, "x"), malformed},
		"header null":         {unsigned("null", body, "x"), badAlgorithm},
		"payload not JSON":    {unsigned(`{"alg":"RS256","kid":"one"}`, "x", "x"), malformed},
		"payload a list":      {unsigned(`{"alg":"RS256","kid":"one"}`, "[]", "x"), malformed},
		"payload null":        {unsigned(`{"alg":"RS256","kid":"one"}`, "null", "x"), badSignature},
		"payload a number":    {unsigned(`{"alg":"RS256","kid":"one"}`, `{"exp":1e999}`, "x"), malformed},
		"no algorithm":        {unsigned(`{"kid":"one"}`, body, "x"), badAlgorithm},
		"algorithm a number":  {unsigned(`{"alg":256,"kid":"one"}`, body, "x"), badAlgorithm},
		"unknown algorithm":   {unsigned(`{"alg":"RS1","kid":"one"}`, body, "x"), badAlgorithm},
		"kid a number":        {one().token(claims, map[string]any{"kid": 1}), malformed},
		"kid a list":          {one().token(claims, map[string]any{"kid": []string{"one"}}), malformed},
		"unknown kid":         {one().token(claims, map[string]any{"kid": "../../etc/passwd"}), unknownKey},
		"empty kid":           {one().token(claims, map[string]any{"kid": ""}), unknownKey},
		"crit":                {one().token(claims, map[string]any{"crit": []string{"exp"}}), "the token uses an unknown extension"},
		"empty crit":          {one().token(claims, map[string]any{"crit": []string{}}), "the token uses an unknown extension"},
		"unencoded":           {one().token(claims, map[string]any{"crit": []string{"b64"}, "b64": false}), "the token uses an unknown extension"},
		"long token":          {one().token(with(claims, map[string]any{"x": strings.Repeat("x", 16<<10)})), "the token is too long"},
		"long header":         {one().token(claims, map[string]any{"kid": strings.Repeat("x", 16<<10)}), "the token is too long"},
		"long garbage":        {strings.Repeat(".", 20<<20), "the token is too long"},
		"changed payload":     {header + "." + base64.RawURLEncoding.EncodeToString([]byte(strings.Replace(body, "Alice", "Mallo", 1))) + "." + signature, badSignature},
		"changed signature":   {header + "." + payload + "." + "AAAA" + signature[4:], badSignature},
		"without signature":   {header + "." + payload + ".", badSignature},
		"another's signature": {key{"one", "RS256", rsaTwo()}.token(claims), badSignature},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			wantRefused(t, a, test.token, test.message)
		})
	}
}
