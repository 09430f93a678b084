package e2etest

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// fruitShop has alice's three orders, two of them in Berlin.
var fruitShop = Folder{Fill: func(p *Process) {
	status := Client{p, p.Token("alice")}.Ask("POST", "/ingest/shop/orders", Object{"data": []Object{
		{"item": "apple", "city": "Berlin", "price": 1.5},
		{"item": "pear", "city": "Paris", "price": 2},
		{"item": "fig", "city": "Berlin", "price": 3},
	}}, nil)
	if status != http.StatusOK {
		p.T.Fatalf("ingest: %d", status)
	}
}}

// Shop starts a server on which alice has three orders, two of them in Berlin.
func Shop(t *testing.T, args ...string) Client {
	t.Helper()
	p := Serve(t, fruitShop.Copy(t), nil, args...)
	return Client{p, p.Token("alice")}
}

// Hold stops the query workers: a question stays unanswered until they continue, or until
// it is canceled.
func (c Client) Hold() (letGo func()) {
	c.T.Helper()
	var workers []int
	// The worker of a canceled question may be about to exit, and a query may time out on
	// a busy machine.
	Eventually(c.T, func() bool {
		if c.Count("shop/orders") != 3 {
			return false
		}
		workers = Children(c.T, c.Cmd.Process.Pid)
		return len(workers) > 0
	})
	for _, pid := range workers {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
			c.T.Fatalf("stop a worker: %v", err)
		}
	}
	letGo = func() {
		for _, pid := range workers {
			_ = syscall.Kill(pid, syscall.SIGCONT) // those of canceled questions are gone
		}
	}
	c.T.Cleanup(letGo)
	return letGo
}

// Children lists the processes that a process has started.
func Children(t testing.TB, parent int) []int {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(files) == 0 {
		t.Skip("the kernel does not say which processes there are")
	}
	var found []int
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended meanwhile
		}
		// The name, in parentheses, may hold anything; state and parent follow.
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		if len(fields) > 1 && fields[1] == strconv.Itoa(parent) {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, pid)
		}
	}
	return found
}

// shopRows are the datasets of the tests: alice's orders and customers.
var shopRows = map[string]string{
	"orders": `{"data":[
		{"id":1,"customer":"Ada","city":"Berlin","amount":10.5,"day":"2025-01-03"},
		{"id":2,"customer":"Bo","city":"Paris","amount":20,"day":"2025-02-04"},
		{"id":3,"customer":"Ada","city":"Berlin","amount":30,"day":"2025-02-05"},
		{"id":4,"customer":"Cy","city":"Rome <b>","amount":9007199254740993,"day":null}],
		"dataDescription":"Orders of a shop","schemaDefinition":{"amount":"in euros"}}`,
	"customers": `{"data":[{"name":"Ada","since":2019},{"name":"Bo","since":2021},{"name":"Cy","since":2023}]}`,
}

// rowShop has shopRows.
var rowShop = Folder{Fill: func(p *Process) {
	alice := p.Token("alice")
	for _, name := range []string{"customers", "orders"} {
		if status, text := p.Post(alice, "/api/v1/ingest/shop/"+name, shopRows[name]); status != http.StatusOK {
			p.T.Fatalf("ingest %s: %d %s", name, status, text)
		}
	}
}}

// ServeShop starts a server, on which alice has orders and customers.
func ServeShop(t *testing.T, env []string, args ...string) Client {
	t.Helper()
	p := Serve(t, rowShop.Copy(t), env, args...)
	return Client{p, p.Token("alice")}
}

// Open sends JSON and returns the response.
func (p *Process) Open(ctx context.Context, token, path, body string, header ...string) *http.Response {
	p.T.Helper()
	header = append([]string{"Content-Type", "application/json"}, header...)
	response, err := p.request(ctx, token, http.MethodPost, path, strings.NewReader(body), header...)
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// Post sends JSON and returns the status and the body.
func (p *Process) Post(token, path, body string, header ...string) (int, string) {
	p.T.Helper()
	return p.Call(token, http.MethodPost, path, body, append([]string{"Content-Type", "application/json"}, header...)...)
}

// A2ABody is a JSON-RPC request that asks a question, in a conversation when
// one is named.
func A2ABody(method, question, contextID string) string {
	params := QuestionParams(question)
	if contextID != "" {
		params["message"].(Object)["contextId"] = contextID
	}
	return ToJSON(Object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
}

// Field returns the first value of a field in a text with JSON.
func Field(text, name string) string {
	_, rest, _ := strings.Cut(text, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}
