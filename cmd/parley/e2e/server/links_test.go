package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestLinks declares links between datasets whose names say nothing of each other: questions
// are answered by them, and anew when they change. A link that only values speak for is found.
func TestLinks(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	var people, orders, goods []map[string]any
	for i := range 40 {
		orders = append(orders, map[string]any{"order_no": 100 + i, "seller": i % 10, "buyer": (i + 3) % 10, "amount": 10 * i, "article": fmt.Sprint("SKU-", i%20)})
	}
	for i := range 10 {
		people = append(people, map[string]any{"id": i, "name": fmt.Sprintf("Person %c", 'A'+i), "city": []string{"Rome", "Oslo"}[i%2]})
	}
	for i := range 30 {
		goods = append(goods, map[string]any{"sku": fmt.Sprint("SKU-", i), "colour": []string{"red", "blue"}[i%2]})
	}
	ingest := func(name string, rows []map[string]any) {
		t.Helper()
		if status, body := s.Post(s.Token, "/api/v1/ingest/market/"+name, e2etest.ToJSON(map[string]any{"data": rows})); status != http.StatusOK {
			t.Fatalf("%s: %d %s", name, status, body)
		}
	}
	ingest("people", people)
	ingest("orders", orders)
	ingest("goods", goods)
	declare := func(links string) {
		t.Helper()
		if status, body := s.Call(s.Token, http.MethodPut, "/api/v1/data/self/market/orders/links", `{"links":[`+links+`]}`); status != http.StatusOK {
			t.Fatalf("declare %s: %d %s", links, status, body)
		}
	}
	ask := func(question string) string {
		t.Helper()
		_, answer := s.Post(s.Token, "/api/v1/query", e2etest.ToJSON(map[string]any{"username": "self", "namespace": "market", "naturalLanguageQuery": question}))
		return answer
	}
	const question = "What is the total amount of orders by city?"
	if answer := ask(question); strings.Contains(answer, "Oslo") {
		t.Errorf("without a link: %s", answer)
	}
	for column, want := range map[string]string{"buyer": `"city":"Oslo","total_amount":3800`, "seller": `"city":"Oslo","total_amount":4000`} {
		declare(fmt.Sprintf(`{"columns":[%q],"dataset":"people","toColumns":["id"]}`, column))
		if answer := ask(question); !strings.Contains(answer, want) || !strings.Contains(answer, "Joined by orders."+column+" = people.id.") {
			t.Errorf("linked by %s: %s", column, answer)
		}
	}
	status, body := s.Call(s.Token, http.MethodGet, "/api/v1/data/self/market/orders/links", "")
	if status != http.StatusOK || !strings.Contains(body, `"cardinality":"many-to-one","hits":40,"orphans":0,"declared":true`) {
		t.Errorf("links: %d %s", status, body)
	}
	if want := `"suggested":[{"columns":["article"],"dataset":"goods","toColumns":["sku"],"label":null,"cardinality":"many-to-one","hits":40,"orphans":0,"declared":false}]`; !strings.Contains(body, want) {
		t.Errorf("suggested: %s", body)
	}
	if answer := ask("What is the total amount of orders by colour?"); !strings.Contains(answer, `"colour":"blue","total_amount":4000`) {
		t.Errorf("by a suggested link: %s", answer)
	}
}
