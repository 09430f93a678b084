package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/e2etest"
)

// TestLinks declares links between datasets whose names say nothing of each other: questions
// are answered by them, and anew when they change.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	var people, deals []map[string]any
	for i := range 40 {
		deals = append(deals, map[string]any{"deal": 100 + i, "seller": i % 10, "buyer": (i + 3) % 10, "amount": 10 * i})
	}
	for i := range 10 {
		people = append(people, map[string]any{"id": i, "name": fmt.Sprintf("Person %c", 'A'+i), "town": []string{"Rome", "Oslo"}[i%2]})
	}
	for name, rows := range map[string][]map[string]any{"people": people, "deals": deals} {
		if status, body := s.Post(s.Alice, "/api/v1/ingest/market/"+name, e2etest.ToJSON(map[string]any{"data": rows})); status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, status, body)
		}
	}
	declare := func(links string) {
		t.Helper()
		if status, body := s.Call(s.Alice, http.MethodPut, "/api/v1/data/self/market/deals/links", `{"links":[`+links+`]}`); status != http.StatusOK {
			t.Fatalf("declare %s: %d %s", links, status, body)
		}
	}
	ask := func(question string) string {
		t.Helper()
		_, answer := s.Post(s.Alice, "/api/v1/query", e2etest.ToJSON(map[string]any{"username": "self", "namespace": "market", "naturalLanguageQuery": question}))
		return answer
	}
	const question = "What is the total amount of deals by town?"
	if answer := ask(question); strings.Contains(answer, "Oslo") {
		t.Errorf("without a link: %s", answer)
	}
	for column, want := range map[string]string{"buyer": `"town":"Oslo","total_amount":3800`, "seller": `"town":"Oslo","total_amount":4000`} {
		declare(fmt.Sprintf(`{"columns":[%q],"dataset":"people","toColumns":["id"]}`, column))
		if answer := ask(question); !strings.Contains(answer, want) || !strings.Contains(answer, "Joined by deals."+column+" = people.id.") {
			t.Errorf("linked by %s: %s", column, answer)
		}
	}
	status, body := s.Call(s.Alice, http.MethodGet, "/api/v1/data/self/market/deals/links", "")
	if status != http.StatusOK || !strings.Contains(body, `"cardinality":"many-to-one","hits":40,"orphans":0,"declared":true`) {
		t.Errorf("links: %d %s", status, body)
	}
}
