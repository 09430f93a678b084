package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// serveInvoices starts a server with clients, their invoices, one of which has no client, and
// the lines of these.
func serveInvoices(t *testing.T, env []string) e2etest.Client {
	t.Helper()
	s := e2etest.Client{Process: e2etest.Serve(t, t.TempDir(), env)}
	s.Token = s.Process.Token("alice")
	for name, rows := range map[string]string{
		"clients":  `[{"id":1,"name":"Ada","country":"DE"},{"id":2,"name":"Bo","country":"FR"},{"id":3,"name":"Cy","country":"FR"}]`,
		"invoices": `[{"id":11,"client_id":1,"amount":10},{"id":12,"client_id":1,"amount":20},{"id":13,"client_id":2,"amount":40},{"id":14,"client_id":3,"amount":80},{"id":15,"client_id":9,"amount":160}]`,
		"lines":    `[{"invoice_id":11,"article":"pen"},{"invoice_id":11,"article":"ink"},{"invoice_id":12,"article":"pen"},{"invoice_id":13,"article":"pen"},{"invoice_id":15,"article":"ink"}]`,
	} {
		if status, text := s.Post(s.Token, "/api/v1/ingest/office/"+name, `{"data":`+rows+`}`); status != http.StatusOK {
			t.Fatalf("ingest %s: %d %s", name, status, text)
		}
	}
	return s
}

func askOffice(s e2etest.Client, field, text string) string {
	_, answer := s.Post(s.Token, "/api/v1/query", e2etest.ToJSON(map[string]any{"username": "self", "namespace": "office", field: text}))
	return answer
}

// TestJoinGuard has a model write queries whose joins repeat rows: one is corrected, one goes
// back to it with the reason. A query that a user sends runs as it is.
func TestJoinGuard(t *testing.T) {
	t.Parallel()
	const repeating = `SELECT sum(i.amount) AS total FROM invoices i JOIN lines l ON l.invoice_id = i.id`
	const lookedUp = `SELECT sum(i.amount) AS total FROM lines l JOIN invoices i ON i.id = l.invoice_id WHERE l.article = 'pen'`
	model := e2etest.NewModel(t,
		e2etest.Queries("takes the same row of `invoices` several times", "Each invoice once.",
			`SELECT sum(amount) AS total FROM invoices i WHERE EXISTS (SELECT 1 FROM lines l WHERE l.invoice_id = i.id)`),
		e2etest.Queries("invoices with lines", "All invoices with lines.", repeating),
		e2etest.Queries("looked up", "Looked up.", strings.Replace(lookedUp, "pen", "ink", 1)),
		e2etest.Queries("ambiguous", "Looked up.", strings.Replace(lookedUp, " WHERE l.article = 'pen'", "", 1)),
	)
	s := serveInvoices(t, model.Env())
	for _, c := range []struct {
		question string
		want     []string
	}{
		{"What is the total of invoices with lines?", []string{`"total":230`, "EXISTS(", "Each row of `invoices` counts once, although several rows of `lines` match it.",
			"1 row of `invoices` is left out: it has no match in `lines`."}},
		{"What is the total, looked up?", []string{`"total":170`, `"executedQuery":"SELECT sum(i.amount) AS total FROM lines l JOIN`}},
		{"What is ambiguous here?", []string{`"total":230`, `"reading":"Each invoice once.`}},
	} {
		answer := askOffice(s, "naturalLanguageQuery", c.question)
		for _, want := range c.want {
			if !strings.Contains(answer, want) {
				t.Errorf("%s: no %s in %s", c.question, want, answer)
			}
		}
	}
	if answer := askOffice(s, "query", repeating); !strings.Contains(answer, `"total":240`) {
		t.Errorf("a user's query: %s", answer)
	}
}

// TestJoinLeavesRowsOut asks without a model, of both agents, for figures that a join takes
// rows from.
func TestJoinLeavesRowsOut(t *testing.T) {
	t.Parallel()
	s := serveInvoices(t, nil)
	const lost = "1 row of `invoices` is left out: it has no match in `clients`."
	if answer := askOffice(s, "naturalLanguageQuery", "What is the total amount of invoices by country?"); !strings.Contains(answer, lost) {
		t.Errorf("nl2ql: %s", answer)
	}
	body := e2etest.ToJSON(map[string]any{"username": "self", "namespace": "office", "query": "What is the total amount of invoices by country?"})
	if _, answer := s.Post(s.Token, "/api/v1/query/autorag", body); strings.Count(answer, lost) != 2 {
		t.Errorf("the assistant does not say in its answer and its step what is left out: %s", answer)
	}
}
