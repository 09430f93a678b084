package docs

import (
	"net/http"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// block is a block of commands in a document, and what comes of it.
type block struct {
	// begins is how it begins.
	begins string
	// prints are what it prints, among other things.
	prints []string
	// serves says that its last command is a server, elsewhere that it runs in a
	// folder of its own, then what is to be looked at when the server is ready.
	serves, elsewhere bool
	then              func(c e2etest.Client)
	// notRun says why it is not run.
	notRun string
}

// documented lists the blocks of commands of each document, in their order. One
// that is not listed fails the test.
var documented = map[string][]block{
	"README.md": {
		{begins: "go run ./cmd/parley demo", serves: true, elsewhere: true},
		{begins: "go run ./cmd/parley ask", prints: []string{"Outdoor", "(5 rows)"}},
		{begins: "go run ./cmd/parley serve", serves: true, elsewhere: true},
		{begins: "export PARLEY_SERVER=", prints: []string{"plum"}},
		{begins: "TOKEN=", prints: []string{`"indexed":2`, "event: answer", "**pear**"}},
		{begins: "go test", notRun: "this is it"},
	},
	"docs/a2a.md": {
		{begins: "curl -s \"$BASE/a2a\"", prints: []string{`/a2a/assistant/.well-known/agent-card.json"`, `"securityRequirements":[{"schemes":{"bearer":`}},
		{begins: "parley card verify", prints: []string{"verified: the card\n"}},
		{begins: "curl -s -H", prints: []string{`"state":"TASK_STATE_COMPLETED"`, `"count":2`}},
		{begins: "curl -s -H", prints: []string{`"raw":"","filename":"sales.csv"`, `"region":"north","total_amount":15`}},
		{begins: "curl -sN", prints: []string{"id: 1\ndata: {", `"task":{`, "The number of orders is **3**", `"state":"TASK_STATE_COMPLETED"`}},
		{begins: "curl -sN", prints: []string{"id: 3\ndata: {", `"state":"TASK_STATE_COMPLETED"`}},
		{begins: "curl -s -H", prints: []string{"the task has ended"}}, // what it asks is in cli/ask_input_test.go
		{begins: "curl -s -H", prints: []string{`"authentication":{"scheme":"Bearer"},"url":"https://hooks.example.com/parley"`}},
		{begins: "curl -s -H", prints: []string{`{"task":{`, `"count":3`, `{"tasks":[{`, `"pageSize":1`}},
		{begins: "curl -s \"$BASE/a2a/assistant/v0.3", prints: []string{`"protocolVersion":"0.3.0"`, `"kind":"task"`, "The number of orders is **3**", `"state":"completed"`}},
	},
	"docs/a2a/clients.md": {
		{begins: "curl -s -H", prints: []string{`"name":"crew","token":"`}},
	},
	"docs/a2a/curl.md": {
		{begins: "curl -s \"$BASE/a2a\"", prints: []string{`"name":"assistant"`}},
		{begins: "curl -s -H", prints: []string{`"contextId":"my-chat"`, "The number of orders with city “Berlin” is **2**"}},
		{begins: "curl -s -H", prints: []string{`"contextId":"my-chat"`, "The number of orders with city “Paris” is **1**"}},
		{begins: "curl -sN", prints: []string{"id: 1\ndata: {", "The number of orders is **3**", `"state":"TASK_STATE_COMPLETED"`}},
		{begins: "curl -sN", prints: []string{"id: 3\ndata: {", `"state":"TASK_STATE_COMPLETED"`}},
		{begins: "curl -s -H", prints: []string{`"tenant":"alice/shop"`, `"id":"orders"`, "The number of orders is **3**"}},
	},
	"docs/a2a/gemini-enterprise.md": {
		{begins: "curl -s \"$BASE", prints: []string{`"protocolVersion":"0.3.0"`, `/a2a/assistant/v0.3"`}},
		{begins: "curl -s -H", prints: []string{`"protocolVersion":"0.3.0"`, `"id":"orders"`, `/a2a/assistant/alice/shop"`}},
		{begins: "jq -n", notRun: "it needs a project of Google Cloud"},
	},
	"docs/a2a/go.md": {
		{begins: "a2a send", prints: []string{"completed", `"count":3`}},
		{begins: "a2a send", prints: []string{"completed", `"count":3`}},
	},
	"docs/cli.md": {
		{begins: "export PARLEY_SERVER=", prints: []string{"shop", "orders", "alice"}},
		{begins: "parley ask", prints: []string{"The number of orders with city “Berlin” is 2", `"item":"fig"`, "The number of orders is 3"}},
		{begins: "parley ingest", prints: []string{"shop/orders", "What was sold"}},
		{begins: "parley datasets", prints: []string{"shop/orders: ", "price"}},
		{begins: "parley tokens create", prints: []string{"report", "/#token="}},
		{begins: "parley share", prints: []string{"bob can read shop now", "carol can read and change shop/orders now", "carol  editor  orders"}},
		{begins: "parley rules", prints: []string{"bob sees 1 of ", "group:sales sees the rows", "item is in the claim groups", "The rule for bob is removed"}},
		{begins: "parley tasks", prints: []string{"How many orders are there?", "it has ended already"}},
		{begins: "parley card verify", prints: []string{"verified: the card\n"}},
		{begins: "source <(parley completion bash)"},
	},
	"docs/eval.md": {
		{begins: "parley eval my-suite", prints: []string{"7 questions about 3 tables in 2 namespaces", "precision"}},
	},
	"docs/mcp.md": {
		{begins: "claude mcp add", notRun: "it needs Claude Code"},
		{begins: "export PARLEY_SERVER=", prints: []string{`"mcpServers": {`, `"PARLEY_SERVER": "http`}},
		{begins: "curl -s -H", prints: []string{`"status":"completed"`, `"rows":[[2]]`}},
	},
	"docs/page.md": {
		{begins: "PAGE_SHOTS=", notRun: "it is a test itself"},
	},
	"docs/rest.md": {
		{begins: "send() {", prints: []string{`"indexed":2`, `"dataDescription":"Fruit on sale."`, `"total":6`, "**pear**", `"name":"report"`}},
	},
	"docs/tour.md": {
		{begins: "go run ./cmd/parley demo", serves: true, elsewhere: true},
	},
	"docs/running.md": {
		{begins: "go build", notRun: "the tests are built the same way"},
		{begins: "export PARLEY_DATABASE_URL=", serves: true, elsewhere: true, then: takesOrders},
		{begins: "# with AWS_ACCESS_KEY_ID", serves: true, elsewhere: true, then: takesOrders},
		{begins: "parley serve --auth-issuer", serves: true, elsewhere: true},
		{begins: "OIDC_CLIENT_SECRET=… parley serve", serves: true, elsewhere: true},
		{begins: "OPENAI_API_KEY=", serves: true, elsewhere: true},
		{begins: "export LANGFUSE_HOST=", serves: true, elsewhere: true},
		{begins: "parley serve --trusted-proxies", serves: true, elsewhere: true},
		{begins: "openssl genpkey", serves: true, elsewhere: true},
		{begins: "curl -sf", prints: []string{`{"status":"ready"}`, "parley_http_requests_total{"}},
		{begins: "parley backup", serves: true, then: hasOrders},
		{begins: "export PARLEY_DATABASE_URL="},
		{begins: "export PARLEY_DATABASE_URL=", prints: []string{"The database's schema has version"}},
	},
}

// takesOrders has a server take orders and count them.
func takesOrders(c e2etest.Client) {
	c.Token = c.Process.Token("alice")
	if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"item": "apple"}}}, nil); status != http.StatusOK {
		c.T.Errorf("ingest: %d", status)
	}
	if got := c.Count("shop/orders"); got != 1 {
		c.T.Errorf("%d orders", got)
	}
}

// hasOrders looks for the orders of the server that was copied.
func hasOrders(c e2etest.Client) {
	if got := c.Count("shop/orders"); got != 3 {
		c.T.Errorf("%d orders in the copy", got)
	}
}
