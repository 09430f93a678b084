package auth_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"parley/internal/auth"
	"parley/internal/domain"
)

func TestBearer(t *testing.T) {
	t.Parallel()
	largest := strings.Repeat("x", 16<<10)
	tests := map[string]struct {
		headers []string
		want    string
	}{
		"usual":                {[]string{"Bearer a.b.c"}, "a.b.c"},
		"lower case":           {[]string{"bearer a.b.c"}, "a.b.c"},
		"upper case":           {[]string{"BEARER a.b.c"}, "a.b.c"},
		"blanks":               {[]string{"  Bearer   a.b.c  "}, "a.b.c"},
		"largest":              {[]string{"Bearer " + largest}, largest},
		"too large":            {[]string{"Bearer x" + largest}, ""},
		"missing":              {nil, ""},
		"empty":                {[]string{""}, ""},
		"scheme alone":         {[]string{"Bearer"}, ""},
		"no token":             {[]string{"Bearer  "}, ""},
		"no scheme":            {[]string{"a.b.c"}, ""},
		"another scheme":       {[]string{"Basic YTpi"}, ""},
		"longer scheme":        {[]string{"Bearers a.b.c"}, ""},
		"no blank":             {[]string{"Bearera.b.c"}, ""},
		"tab for blank":        {[]string{"Bearer\ta.b.c"}, ""},
		"two tokens":           {[]string{"Bearer a.b.c d.e.f"}, ""},
		"two in one header":    {[]string{"Bearer a.b.c, Bearer d.e.f"}, ""},
		"two headers":          {[]string{"Bearer a.b.c", "Bearer d.e.f"}, ""},
		"two equal headers":    {[]string{"Bearer a.b.c", "Bearer a.b.c"}, ""},
		"two, the first empty": {[]string{"", "Bearer a.b.c"}, ""},
	}
	for name, test := range tests {
		header := http.Header{}
		for _, value := range test.headers {
			header.Add("authorization", value)
		}
		token, err := auth.Bearer(header)
		if token != test.want || (err == nil) != (test.want != "") {
			t.Errorf("%s: Bearer = %q, %v, want %q", name, token, err, test.want)
		}
		var said *domain.Error
		if err != nil && (!errors.Is(err, domain.ErrUnauthorized) || !errors.As(err, &said) || said.Message == "") {
			t.Errorf("%s: error %v is not for the client", name, err)
		}
	}
}

// Another scheme is no token: RFC 6750 wants no error named then.
func TestTokenSent(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]bool{
		"Bearer a.b.c": true, "bearer x": true, " BEARER  x ": true, "Bearer a.b.c, Bearer d.e.f": true, "Bearer a b": true,
		"": false, "Bearer": false, "Bearer  ": false, "Basic YTpi": false, "Bearers x": false, "a.b.c": false,
	} {
		if got := auth.TokenSent(http.Header{"Authorization": {value}}); got != want {
			t.Errorf("TokenSent(%q) = %v", value, got)
		}
	}
	if auth.TokenSent(http.Header{}) {
		t.Error("a token in no header")
	}
	if !auth.TokenSent(http.Header{"Authorization": {"", "Bearer x"}}) {
		t.Error("the second header was not looked at")
	}
}
