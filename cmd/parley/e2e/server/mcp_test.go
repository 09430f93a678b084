package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"parley/cmd/parley/e2e/helpers/datasetstest"
	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/golden"
)

// mcpVersions are the versions of the protocol, the oldest first.
var mcpVersions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

// TestMCPTools calls every tool in every version of the protocol.
func TestMCPTools(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	for _, version := range mcpVersions {
		m := s.MCP(version, nil)
		if got := m.InitializeResult(); got.ProtocolVersion != version || got.Instructions == "" {
			t.Errorf("version %s, not %s", got.ProtocolVersion, version)
		}
		var all strings.Builder
		use := func(tool string, arguments e2etest.Object) e2etest.ToolResult {
			r := m.Use(tool, arguments)
			if id, ok := arguments["run_id"]; ok {
				arguments["run_id"] = "ID"
				r.All = strings.ReplaceAll(r.All, fmt.Sprint(id), "ID")
			}
			fmt.Fprintf(&all, "%s %s\n%s\n%s\n\n", tool, e2etest.ToJSON(arguments), r.All, r.Text)
			return r
		}
		tools, err := m.ListTools(t.Context(), nil)
		if err != nil || len(tools.Tools) != 8 {
			t.Fatalf("%d tools, %v", len(tools.Tools), err)
		}
		for _, tool := range tools.Tools {
			fmt.Fprintf(&all, "%s: %s %s\n%s\n%s\n\n", tool.Name, tool.Description, e2etest.ToJSON(tool.Annotations), e2etest.ToJSON(tool.InputSchema), e2etest.ToJSON(tool.OutputSchema))
		}
		use("list_datasets", e2etest.Object{})
		use("list_datasets", e2etest.Object{"namespace": "none"})
		use("describe_dataset", e2etest.Object{"namespace": "shop", "dataset": "orders"})
		use("preview_rows", e2etest.Object{"namespace": "alice/shop", "dataset": "orders", "limit": 2, "sort": "id", "descending": true})
		use("run_sql", e2etest.Object{"namespace": "shop", "query": "SELECT city, sum(amount) AS total FROM orders WHERE id < 4 GROUP BY city ORDER BY city"})
		use("run_sql", e2etest.Object{"namespace": "shop", "query": "SELECT city FROM orders ORDER BY city", "limit": 1})
		use("run_sql", e2etest.Object{"namespace": "shop", "query": "SELECT city FROM orders WHERE false"})
		use("run_sql", e2etest.Object{"namespace": "shop", "query": "SELECT nothing FROM orders"})
		run := use("ask", e2etest.Object{"question": "How many orders are there for each city?"})
		use("get_answer", e2etest.Object{"run_id": run.RunID, "limit": 1})
		use("cancel_run", e2etest.Object{"run_id": run.RunID})
		use("give_feedback", e2etest.Object{"run_id": run.RunID, "thumbs_up": true, "comment": "right"})
		use("ask", e2etest.Object{"question": "What is the meaning of love?", "namespace": "shop"})
		use("ask", e2etest.Object{"question": " ", "namespace": "shop"})
		golden.Assert(t, "mcp.txt", []byte(e2etest.ScrubConfidence(string(golden.Scrub([]byte(all.String()))))))
	}
}

// TestMCPResources lists and reads datasets, also with names that a URI must escape.
func TestMCPResources(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	alice := s
	zoe := e2etest.Client{Process: s.Process, Token: s.Process.Token("zoë+1@example.com")}
	zoe.NewDataset("my.data", "things")
	if status := zoe.Ask("POST", "/permissions/namespaces/self/my.data/shares", e2etest.Object{"username": "alice", "role": "viewer"}, nil); status != http.StatusOK {
		t.Fatalf("share: %d", status)
	}
	for _, version := range mcpVersions {
		m := alice.MCP(version, nil)
		listed, err := m.ListResources(t.Context(), nil)
		if err != nil || len(listed.Resources) != 3 {
			t.Fatalf("%d resources, %v", len(listed.Resources), err)
		}
		for _, resource := range listed.Resources {
			read, err := m.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: resource.URI})
			if err != nil {
				t.Fatalf("%s: %v", resource.URI, err)
			}
			var described struct{ Dataset, URI string }
			if err := json.Unmarshal([]byte(read.Contents[0].Text), &described); err != nil || described.Dataset != resource.Name || described.URI != resource.URI {
				t.Errorf("%s: %v %s", resource.URI, err, read.Contents[0].Text)
			}
		}
		for _, uri := range []string{"parley://alice/shop/none", "parley://bob/shop/orders", "parley://alice/shop", "parley://alice/shop/%00", "file:///etc/passwd"} {
			if read, err := m.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: uri}); err == nil {
				t.Errorf("%s: %s", uri, e2etest.ToJSON(read))
			}
		}
		if templates, err := m.ListResourceTemplates(t.Context(), nil); err != nil || len(templates.ResourceTemplates) != 1 {
			t.Errorf("templates: %v", err)
		}
	}
}

// TestMCPAsksBack answers what a run asks, with the tool and by elicitation.
func TestMCPAsksBack(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	alice := s
	alice.NewWorkshop()
	ask := e2etest.Object{"question": e2etest.WhichDate, "namespace": "workshop"}
	done := func(r e2etest.ToolResult) {
		t.Helper()
		if r.Status != "completed" || !strings.Contains(r.All, `"rows":[[3]]`) {
			t.Errorf("answered: %s", r.All)
		}
	}
	asked := 0
	choose := func(action string) *mcp.ClientOptions {
		return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, request *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked++
			var schema struct {
				Properties struct {
					Answer struct {
						OneOf []struct{ Const, Title string }
					}
				}
			}
			_ = json.Unmarshal([]byte(e2etest.ToJSON(request.Params.RequestedSchema)), &schema)
			for _, option := range schema.Properties.Answer.OneOf {
				if strings.Contains(option.Title, "done") {
					return &mcp.ElicitResult{Action: action, Content: map[string]any{"answer": option.Const}}, nil
				}
			}
			return nil, fmt.Errorf("no such option: %s", e2etest.ToJSON(request.Params.RequestedSchema))
		}}
	}
	for _, version := range mcpVersions {
		for _, options := range []*mcp.ClientOptions{nil, choose("decline")} {
			m := alice.MCP(version, options)
			r := m.Use("ask", ask)
			if r.Status != "needs_input" || !strings.Contains(r.All, `"options":[{"id"`) || !strings.Contains(r.Text, "2. ") {
				t.Fatalf("%s asked: %s", version, r.All)
			}
			if again := m.Use("get_answer", e2etest.Object{"run_id": r.RunID}); again.All != r.All {
				t.Errorf("read again: %s", again.All)
			}
			done(m.Use("ask", e2etest.Object{"run_id": r.RunID, "question": "done in 2025"}))
			if again := m.Use("ask", e2etest.Object{"run_id": r.RunID, "question": "done in 2025"}); again.Failed.Code != "CONFLICT" {
				t.Errorf("answered twice: %s", again.All)
			}
		}
	}
	if asked != 1 {
		t.Errorf("clients were asked %d times", asked)
	}
	done(alice.MCP("", choose("accept")).Use("ask", ask))
	if r := alice.MCP("", nil).Use("ask", e2etest.Object{"question": e2etest.WhichDate, "namespace": "workshop", "never_ask": true}); r.Status != "completed" {
		t.Errorf("never asked: %s", r.All)
	}
	// The data is found as over A2A: one of two namespaces by its name, or asked for.
	if r := alice.MCP("", nil).Use("ask", e2etest.Object{"question": "How many orders are there in the namespace shop?"}); r.Status != "completed" {
		t.Errorf("a named namespace: %s", r.All)
	}
	if r := alice.MCP("", nil).Use("ask", e2etest.Object{"question": "How many are there?"}); r.Status != "needs_input" || !strings.Contains(r.All, "alice/workshop") {
		t.Errorf("no namespace: %s", r.All)
	}
}

// TestMCPDroppedConnection drops the connection of a question, which is answered all the same.
func TestMCPDroppedConnection(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	for _, version := range []string{mcpVersions[0], mcpVersions[2]} {
		m := c.MCP(version, nil)
		letGo := c.Hold()
		ctx, drop := context.WithCancel(t.Context())
		dropped := make(chan error)
		go func() {
			_, err := m.Try(ctx, "ask", e2etest.Object{"question": "How many orders are there?", "wait_seconds": 50})
			dropped <- err
		}()
		var open struct {
			Result struct{ Tasks []struct{ ID string } }
		}
		e2etest.Eventually(t, func() bool {
			_, text := c.Post(c.Token, "/api/v1/a2a/assistant", e2etest.RPCBody("ListTasks", `{"status":"TASK_STATE_WORKING"}`))
			return json.Unmarshal([]byte(text), &open) == nil && len(open.Result.Tasks) == 1
		})
		drop()
		if err := <-dropped; err == nil {
			t.Error("the connection was not dropped")
		}
		id := e2etest.Object{"run_id": open.Result.Tasks[0].ID, "wait_seconds": 0}
		m = c.MCP(version, nil)
		if r := m.Use("get_answer", id); r.Status != "working" || !strings.Contains(r.Text, "get_answer") {
			t.Errorf("while it works: %s", r.All)
		}
		letGo()
		id["wait_seconds"] = 50
		if r := m.Use("get_answer", id); r.Status != "completed" {
			t.Errorf("the run of a dropped connection: %s", r.All)
		}
		letGo = c.Hold()
		r := m.Use("ask", e2etest.Object{"question": "How many orders are there?", "wait_seconds": 0})
		if got := m.Use("cancel_run", e2etest.Object{"run_id": r.RunID}); r.Status != "working" || got.Failed.Code != "CANCELED" {
			t.Errorf("canceled: %s %s", r.All, got.All)
		}
		letGo()
	}
}

// TestMCPTokens uses a token for other data, and one that can only read.
func TestMCPTokens(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	alice := s
	alice.NewDataset("mine", "things")
	alice.NewWorkshop()
	token := func(namespace string) *e2etest.MCP {
		var made struct{ Token string }
		alice.Ask("POST", "/user/token", e2etest.Object{"name": namespace, "accessRestrictedTo": []e2etest.Object{{"username": "self", "namespace": namespace}}}, &made)
		return e2etest.Client{Process: s.Process, Token: made.Token}.MCP("", nil)
	}
	for _, m := range []*e2etest.MCP{token("mine"), e2etest.Client{Process: s.Process, Token: s.Process.Token("bob")}.MCP("", nil)} {
		if r := m.Use("list_datasets", nil); strings.Contains(r.All+r.Text, "orders") {
			t.Errorf("listed: %s", r.All)
		}
		if listed, err := m.ListResources(t.Context(), nil); err != nil || strings.Contains(e2etest.ToJSON(listed), "orders") {
			t.Errorf("resources: %v %s", err, e2etest.ToJSON(listed))
		}
		if _, err := m.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "parley://alice/shop/orders"}); err == nil {
			t.Error("a resource of others was read")
		}
		if r := m.Use("ask", e2etest.Object{"question": "How many orders are there in the namespace alice/shop?", "never_ask": true}); strings.Contains(r.All, `"orders"`) {
			t.Errorf("asked: %s", r.All)
		}
	}
	read := token("workshop")
	if r := read.Use("run_sql", e2etest.Object{"namespace": "workshop", "query": "SELECT count(*) AS n FROM work_orders"}); r.Status != "completed" {
		t.Errorf("a token that reads: %s", r.All)
	}
	run := alice.MCP("", nil).Use("ask", e2etest.Object{"question": e2etest.WhichDate, "namespace": "workshop"})
	for tool, arguments := range map[string]e2etest.Object{"ask": {"run_id": run.RunID, "question": "done in 2025"}, "cancel_run": {"run_id": run.RunID}} {
		if r := read.Use(tool, arguments); r.Failed.Code != "FORBIDDEN" {
			t.Errorf("%s with a token that reads: %s", tool, r.All)
		}
	}
}

// TestMCPQueriesAreChecked runs the statements that POST /query refuses.
func TestMCPQueriesAreChecked(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	m := s.MCP("", nil)
	fill := strings.NewReplacer("{dir}", s.Dir, "{secret}", s.Dir+"/parley-data/local-key", "{file}", s.Dir+"/x.parquet", "{link}", "x")
	for _, sql := range datasetstest.Trespasses {
		if r := m.Use("run_sql", e2etest.Object{"namespace": "shop", "query": fill.Replace(sql)}); r.Status != "failed" || r.Failed.Code != "VALIDATION_FAILED" {
			t.Errorf("%s: %s", sql, r.All)
		}
	}
}

// TestMCPLimits reads more than a result may have.
func TestMCPLimits(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	m := s.MCP("", nil)
	for _, c := range []struct {
		sql   string
		limit int
		rows  int
	}{
		{"SELECT i FROM range(51) AS r(i)", 0, 50},
		{"SELECT i FROM range(1000) AS r(i)", 500, 500},
		{"SELECT repeat('ä', 1001) AS long", 0, 1},
		{"SELECT range(5000) AS long", 0, 1},
		{"SELECT i, repeat('x', 900) AS long FROM range(500) AS r(i)", 500, 144},
	} {
		arguments := e2etest.Object{"namespace": "shop", "query": c.sql}
		if c.limit > 0 {
			arguments["limit"] = c.limit
		}
		r := m.Use("run_sql", arguments)
		var result struct {
			Rows      [][]any
			Truncated bool
		}
		if err := json.Unmarshal([]byte(r.All), &result); err != nil || len(result.Rows) != c.rows || !result.Truncated || len(r.All) > 256<<10 || len(r.Text) > 4<<10 {
			t.Errorf("%s: %d rows, %d and %d bytes, truncated: %v, %v", c.sql, len(result.Rows), len(r.All), len(r.Text), result.Truncated, err)
		}
	}
	if r := m.Use("run_sql", e2etest.Object{"namespace": "shop", "query": "SELECT 1", "limit": 501}); !r.IsError {
		t.Errorf("a limit above the maximum: %s", r.All)
	}
}

// TestMCPOddArguments calls every tool with values that no schema, or nothing behind it, takes: none
// is an internal error.
func TestMCPOddArguments(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		p := e2etest.Serve(t, t.TempDir(), env)
		alice := e2etest.Client{Process: p, Token: p.Token("alice")}
		alice.NewDataset("shop", "orders")
		m := alice.MCP("", nil)
		run := m.Use("ask", e2etest.Object{"question": "How many orders are there?"}).RunID
		right := e2etest.Object{"namespace": "shop", "dataset": "orders", "query": "SELECT 1", "question": "How many orders are there?", "run_id": run, "thumbs_up": true}
		tools, err := m.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range tools.Tools {
			schema := tool.InputSchema.(map[string]any)
			for name := range schema["properties"].(map[string]any) {
				for _, value := range []any{
					nil, "", "a\x00b", "\u202e\ufeff", strings.Repeat("x", 40_000), "../..", "bob/shop", "'; DROP TABLE runs; --", -1, 1.5, 1e308, uint64(1 << 63),
					true, []any{}, e2etest.Object{"a": 1}, "00000000-0000-0000-0000-000000000000",
				} {
					arguments := e2etest.Object{}
					required, _ := schema["required"].([]any)
					for _, needed := range required {
						arguments[needed.(string)] = right[needed.(string)]
					}
					arguments[name] = value
					if r := m.Use(tool.Name, arguments); strings.Contains(r.All+r.Text, "INTERNAL") {
						t.Errorf("%s with %s = %.40v: %s %s", tool.Name, name, value, r.All, r.Text)
					}
				}
			}
		}
		if log := p.Log.String(); strings.Contains(log, "level=ERROR") {
			t.Error("an argument is logged as an error")
		}
	})
}

// TestMCPRefusals sends what is no call of a tool.
func TestMCPRefusals(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	accept := []string{"Accept", "application/json, text/event-stream"}
	newest := append([]string{"MCP-Protocol-Version", "2026-07-28"}, accept...)
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	for _, c := range []struct {
		name, token, body string
		header            []string
		status            int
		contains          string
	}{
		{"without a token", "", list, accept, http.StatusUnauthorized, "UNAUTHORIZED"},
		{"with a wrong token", "x", list, accept, http.StatusUnauthorized, "UNAUTHORIZED"},
		{"a batch", s.Token, "[" + list + "," + list + "]", accept, http.StatusBadRequest, "batches"},
		{"no JSON", s.Token, "{", accept, http.StatusBadRequest, "not JSON"},
		{"nothing", s.Token, "", accept, http.StatusBadRequest, "not JSON"},
		{"deep", s.Token, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":` + strings.Repeat("[", 50_000) + strings.Repeat("]", 50_000) + "}", accept, http.StatusBadRequest, "not JSON"},
		{"large", s.Token, `{"x":"` + strings.Repeat("x", 9<<20) + `"}`, accept, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE"},
		{"an old version", s.Token, list, append([]string{"MCP-Protocol-Version", "2024-11-05"}, accept...), http.StatusBadRequest, "version"},
		{"a future version", s.Token, strings.Replace(list, `"tools/list"`, `"tools/list","params":{`+strings.ReplaceAll(meta, "2026-07-28", "2099-01-01")+`}`, 1),
			append([]string{"MCP-Protocol-Version", "2099-01-01", "Mcp-Method", "tools/list"}, accept...), http.StatusBadRequest, "2026-07-28"},
		{"without the method in a header", s.Token, strings.Replace(list, `"tools/list"`, `"tools/list","params":{`+meta+`}`, 1), newest, http.StatusBadRequest, "Mcp-Method"},
		{"a subscription", s.Token, `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{` + meta + `}}`,
			append([]string{"Mcp-Method", "subscriptions/listen"}, newest...), http.StatusNotFound, "-32601"},
		{"an unknown method", s.Token, `{"jsonrpc":"2.0","id":1,"method":"x/y","params":{` + meta + `}}`, append([]string{"Mcp-Method", "x/y"}, newest...), http.StatusNotFound, "x/y"},
		{"an unknown tool", s.Token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"drop","arguments":{}}}`, accept, http.StatusOK, "unknown tool"},
		{"a null argument", s.Token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_sql","arguments":{"namespace":"shop","query":"SELECT 7 AS n","limit":null}}}`, accept, http.StatusOK, `"status":"completed"`},
		{"a null that is needed", s.Token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_sql","arguments":{"namespace":"shop","query":null}}}`, accept, http.StatusOK, `missing properties`},
		{"an unknown argument", s.Token, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"run_sql","arguments":{"namespace":"shop","query":"SELECT 1","caller":"bob"}}}`, accept, http.StatusOK, `"isError":true`},
		{"a notification", s.Token, `{"jsonrpc":"2.0","method":"notifications/initialized"}`, accept, http.StatusAccepted, ""},
		{"a response", s.Token, `{"jsonrpc":"2.0","id":1,"result":{}}`, accept, http.StatusAccepted, ""},
	} {
		status, text := s.Post(c.token, mcpPath, c.body, c.header...)
		if status != c.status || !strings.Contains(text, c.contains) {
			t.Errorf("%s: %d %.300s", c.name, status, text)
		}
	}
	for _, method := range []string{"GET", "DELETE", "PUT"} {
		if status, text := s.Call(s.Token, method, mcpPath, ""); status != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d %s", method, status, text)
		}
	}
	if strings.Contains(s.Log.String(), "panic") || strings.Contains(s.Log.String(), "level=ERROR") {
		t.Error("a refusal is logged as an error")
	}
}
