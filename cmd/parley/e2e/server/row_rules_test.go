package server

import (
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/internal/domain"
)

// hiddenRows are rows of the north, which a rule hides; each has a marked value.
func hiddenRows() []e2etest.Object {
	return []e2etest.Object{
		{"id": 1, "region": "south", "customer": "Ann", "amount": 10.5, "day": "2025-01-01"},
		{"id": 2, "region": "south", "customer": "Ben", "amount": 20.25, "day": "2025-02-01"},
		{"id": 3, "region": "south", "customer": "Ann", "amount": 5, "day": "2025-03-01"},
		{"id": 777001, "region": "northland", "customer": "Quillfeather", "amount": 777000.25, "day": "2031-07-07"},
		{"id": 777002, "region": "northland", "customer": "Zanzibar", "amount": 777111.75, "day": "2031-07-08"},
	}
}

// Neither agents nor models, tools, examples and suggestions show a row that a rule hides.
func TestQuestionsAboutRuledRows(t *testing.T) {
	t.Parallel()
	for name, model := range map[string]*e2etest.StandinModel{
		"reader": nil,
		"model": e2etest.NewModel(t,
			e2etest.Plans("", "one step", "List the orders"), e2etest.Queries("", "all orders", "SELECT * FROM orders ORDER BY amount DESC"), e2etest.Answers("", "Done.")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var env []string
			if model != nil {
				env = model.Env()
			}
			process := e2etest.Serve(t, t.TempDir(), env)
			alice := e2etest.Client{Process: process, Token: process.Token("alice")}
			bob := e2etest.Client{Process: process, Token: process.Token("bob", "--group", "south")}
			for _, set := range []struct {
				path string
				body e2etest.Object
			}{
				{"/ingest/shop/orders", e2etest.Object{"data": hiddenRows()}},
				{"/ingest/shop/customers", e2etest.Object{"data": []e2etest.Object{{"name": "Ann", "town": "Rome"}, {"name": "Ben", "town": "Bonn"}}}},
				{"/permissions/datasets/self/shop/orders/rules", e2etest.Object{"username": "group:south", "condition": "region = 'south'"}},
				{"/permissions/namespaces/self/shop/shares", e2etest.Object{"username": "group:south", "role": "viewer"}},
			} {
				if status := alice.Ask("POST", set.path, set.body, nil); status != http.StatusOK {
					t.Fatalf("%s: %d", set.path, status)
				}
			}
			shows := func(about, text string) {
				t.Helper()
				text = string(golden.Scrub([]byte(text))) // ids can have any digits
				for _, hidden := range []string{"Quillfeather", "Zanzibar", "northland", "777000", "777001", "777002", "777111", "2031-"} {
					if strings.Contains(text, hidden) && !strings.Contains(about, hidden) {
						t.Errorf("%s shows %s: %s", about, hidden, text)
					}
				}
			}
			mcp := bob.MCP(mcpVersions[0], nil)
			for _, question := range []string{
				"How many orders are there?", "List all orders", "What is the highest amount?", "Which customer has the highest amount?", "Orders by region", "Total amount by customer",
				"Which customers have no orders?", "What is the latest day?", "Orders of Quillfeather", "How many orders are in northland?", "Give me an overview of the data", "What can I ask?", "What is the weather?",
			} {
				_, answer := process.Post(bob.Token, "/api/v1/query/autorag", e2etest.ToJSON(e2etest.Object{"username": "alice", "namespace": "shop", "query": question}))
				shows(question, answer)
				_, answer = process.Post(bob.Token, "/api/v1/a2a/nl2ql/alice/shop", e2etest.RPCBody("SendMessage", e2etest.ToJSON(e2etest.Object{"message": e2etest.Object{
					"messageId": domain.NewID(), "role": "ROLE_USER", "parts": []e2etest.Object{{"text": question}}}})))
				if shows(question, answer); !strings.Contains(answer, `"artifacts"`) && !strings.Contains(answer, `"status"`) {
					t.Errorf("%s: %s", question, answer)
				}
				shows(question, mcp.Use("ask", e2etest.Object{"question": question, "namespace": "alice/shop"}).All)
			}
			for tool, arguments := range map[string]e2etest.Object{
				"list_datasets": {}, "describe_dataset": {"namespace": "alice/shop", "dataset": "orders"}, "preview_rows": {"namespace": "alice/shop", "dataset": "orders"},
				"run_sql": {"namespace": "alice/shop", "query": "SELECT * FROM orders"},
			} {
				shows(tool, mcp.Use(tool, arguments).All)
			}
			if model == nil {
				_, answer := process.Post(bob.Token, "/api/v1/query/autorag", e2etest.ToJSON(e2etest.Object{"username": "alice", "namespace": "shop", "query": "What is the total amount of all orders?"}))
				if !strings.Contains(answer, "35.75") {
					t.Errorf("the total of three rows: %s", answer)
				}
				return
			}
			for _, prompt := range model.Requests("standin") {
				if prompt.Job != e2etest.AnswerJob {
					shows("a prompt about Quillfeather in northland", prompt.System+prompt.Text)
				}
			}
			if len(model.Requests("standin")) == 0 {
				t.Error("the model was not asked")
			}
		})
	}
}
