package cli

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestAskInLocale asks with the variables of a locale: the sentence has its separators, the
// rows and other formats have none.
func TestAskInLocale(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "ham", "city": "Parma", "price": 27425.25}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	for variable, want := range map[string]string{
		"LC_ALL=de_DE.UTF-8":  "27.425,25",
		"LC_NUMERIC=fr_FR":    "27\u202f425,25",
		"LANG=C.UTF-8":        "27,425.25",
		"LC_ALL=no such name": "27,425.25",
	} {
		ask := talk(c, "ask", "--namespace", "shop", "What is the total price of orders per city?")
		ask.Env = append(ask.Env, variable)
		if got := typed(t, ask, ""); got.Code != e2etest.ExitOK || !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: %+v", variable, got)
		}
		query := talk(c, "query", "--namespace", "shop", "--format", "csv", "SELECT max(price) AS price FROM orders")
		query.Env = append(query.Env, variable)
		if got := typed(t, query, ""); got.Stdout != "price\n27425.25\n" {
			t.Errorf("%s: %+v", variable, got)
		}
	}
}
