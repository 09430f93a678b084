package rest_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
)

// A user is the same however the name is written, in tokens, shares and paths; one
// with invisible characters is nobody.
func TestUsernamesAreOne(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	const shares = "/permissions/namespaces/self/shop/shares"
	s.send("Jose\u0301", http.MethodPost, "/ingest/new/shop/orders", "", "")
	if status := s.post("jos\u00e9", shares, map[string]string{"username": "ZOE\u0308", "role": "viewer"}, nil); status != http.StatusOK {
		t.Errorf("share: %d", status)
	}
	if got := s.send("JOSE\u0301", http.MethodGet, shares, "", ""); !strings.Contains(got.body, "zo\u00eb") {
		t.Errorf("shares: %d %s", got.status, got.body)
	}
	for _, owner := range []string{"jos\u00e9", "JOSE\u0301"} {
		if got := s.send("zo\u00eb", http.MethodGet, "/data/"+url.PathEscape(owner)+"/shop/orders", "", ""); got.status != http.StatusOK {
			t.Errorf("the data of %+q: %d %s", owner, got.status, got.body)
		}
	}
	for _, name := range []string{"zoe\u200b", "\u202ezoe", "\u212aate"} {
		if status := s.post("jos\u00e9", shares, map[string]string{"username": name, "role": "viewer"}, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("share with %+q: %d", name, status)
		}
		if got := s.send("jos\u00e9", http.MethodGet, "/data/"+url.PathEscape(name)+"/shop/orders", "", ""); got.status != http.StatusUnprocessableEntity {
			t.Errorf("the data of %+q: %d %s", name, got.status, got.body)
		}
	}
}
