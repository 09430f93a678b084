package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/internal/golden"
)

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

// shopServer is a server with alice's namespace shop.
type shopServer struct {
	*process
	alice string
}

func serveShop(t *testing.T, env []string, args ...string) shopServer {
	t.Helper()
	s := shopServer{process: serve(t, t.TempDir(), env, args...)}
	s.alice = s.token("alice")
	for _, name := range []string{"customers", "orders"} {
		if status, text := s.post(s.alice, "/api/v1/ingest/shop/"+name, shopRows[name]); status != http.StatusOK {
			t.Fatalf("ingest %s: %d %s", name, status, text)
		}
	}
	return s
}

// open sends JSON and gives the answer to be read.
func (p *process) open(ctx context.Context, token, path, body string, header ...string) *http.Response {
	p.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.url+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

// post is open for an answer that is read whole.
func (p *process) post(token, path, body string, header ...string) (int, string) {
	p.t.Helper()
	response := p.open(p.t.Context(), token, path, body, header...)
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// a2aBody is a JSON-RPC request that asks a question, in a conversation when
// one is named.
func a2aBody(method, question, contextID string) string {
	message := map[string]any{
		"messageId": "m-1", "role": "ROLE_USER", "parts": []any{map[string]any{"text": question}}, "metadata": map[string]any{"namespace": "shop"},
	}
	if contextID != "" {
		message["contextId"] = contextID
	}
	return toJSON(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": map[string]any{"message": message}})
}

// TestGoldenStreams shows whole streams, byte for byte but for ids and times.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	count := queries("How many orders", "Every row is an order.", "SELECT count(*) AS n FROM orders")
	for name, test := range map[string]struct {
		agent string
		// asked are questions of one conversation.
		asked []string
		lines []modelLine
	}{
		"nl2ql": {agent: "nl2ql", asked: []string{"How many orders are there?"}, lines: []modelLine{count}},
		"nl2ql-rows": {agent: "nl2ql", asked: []string{"List them"}, lines: []modelLine{
			queries("List them", "All of them.", `SELECT * FROM orders WHERE amount > 9 AND city <> 'Paris' ORDER BY id`),
		}},
		"nl2ql-repaired": {agent: "nl2ql", asked: []string{"How much?"}, lines: []modelLine{
			queries("amnt", "The column is called amount.", "SELECT sum(amount) AS total FROM orders WHERE id < 4"),
			queries("How much?", "By amount.", "SELECT sum(amnt) AS total FROM orders"),
		}},
		"nl2ql-refused": {agent: "nl2ql", asked: []string{"Read the passwords"}, lines: []modelLine{
			queries("passwords", "They are in a file.", "SELECT * FROM read_csv('/etc/passwd')"),
		}},
		"nl2ql-unanswerable": {agent: "nl2ql", asked: []string{"What is the weather?"}, lines: []modelLine{
			{job: queryJob, says: toJSON(map[string]any{"reasoning": "", "unanswerable": "No dataset tells of the weather.", "sql": "", "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0})},
		}},
		"assistant": {agent: "assistant", asked: []string{"How many orders are there?"}, lines: []modelLine{
			plans("How many", "One count will do.", "How many orders are there?"), count,
			answers("How many", "There are **4** orders. [step 1]"),
		}},
		"assistant-three-steps": {agent: "assistant", asked: []string{"Who buys most, where, and since when?"}, lines: []modelLine{
			plans("Who buys", "Find the customer, then the rest.", "Find who ordered most often", "Find that customer's cities", "Find since when that customer is one"),
			queries("since when that customer is", "", "SELECT since FROM customers WHERE name = 'Ada'"),
			queries("that customer's cities", "", "SELECT DISTINCT city FROM orders WHERE customer = 'Ada'"),
			queries("ordered most often", "", "SELECT customer, count(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC LIMIT 1"),
			answers("", "**Ada**, in Berlin, since 2019. [step 1] [step 2] [step 3]"),
		}},
		"assistant-failing-step": {agent: "assistant", asked: []string{"How many, and how heavy?"}, lines: []modelLine{
			plans("how heavy", "Two figures.", "How many orders are there?", "How heavy are they?"),
			queries("How heavy", "By weight.", "SELECT avg(weight) FROM orders"), count,
		}},
		"assistant-follow-up": {agent: "assistant", asked: []string{"How many orders are there?", "And in Berlin?"}, lines: []modelLine{
			// It knows what was asked and answered before.
			plans("There are **4** orders.", "The same, for Berlin.", "Count the Berlin ones"),
			plans("How many", "One count will do.", "How many orders are there?"),
			queries("Count the Berlin ones", "", "SELECT count(*) AS n FROM orders WHERE city = 'Berlin'"), count,
			answers("Count the Berlin ones", "There are **2** in Berlin. [step 1]"),
			answers("How many", "There are **4** orders. [step 1]"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serveShop(t, newModel(t, test.lines...).env())
			var got bytes.Buffer
			contextID := ""
			for _, question := range test.asked {
				body := a2aBody("SendStreamingMessage", question, contextID)
				_, stream := s.post(s.alice, "/api/v1/a2a/"+test.agent, body)
				fmt.Fprintf(&got, "> %s\n%s", body, stream)
				contextID = field(stream, "contextId")
			}
			golden.Assert(t, "streams/"+name+".txt", golden.Scrub(got.Bytes()))
		})
	}
}

// field gives the first value of a field in a text that holds JSON.
func field(text, name string) string {
	_, rest, _ := strings.Cut(text, `"`+name+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func TestGoldenStreamOfNoNamespace(t *testing.T) {
	t.Parallel()
	s := serveShop(t, nil)
	var got bytes.Buffer
	for _, namespace := range []any{"nowhere", "bob/shop", "", nil, 7, "a/b/c"} {
		body := strings.Replace(a2aBody("SendStreamingMessage", "How many?", ""), `"shop"`, toJSON(namespace), 1)
		_, answer := s.post(s.alice, "/api/v1/a2a/nl2ql", body)
		fmt.Fprintf(&got, "> %s\n%s\n", body, answer)
	}
	_, list := s.post(s.alice, "/api/v1/a2a/nl2ql", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
	fmt.Fprintf(&got, "ListTasks: %s", list)
	golden.Assert(t, "streams/no-namespace.txt", golden.Scrub(got.Bytes()))
}

// A run that is canceled while its model thinks ends at once, for the one who
// canceled and for those who watch.
func TestGoldenStreamCanceled(t *testing.T) {
	t.Parallel()
	model := newModel(t,
		plans("How many", "One count will do.", "Count the orders"),
		modelLine{job: queryJob, words: "Count the orders", hang: true},
	)
	s := serveShop(t, model.env())
	body := a2aBody("SendStreamingMessage", "How many orders are there?", "")
	stream := bufio.NewReader(s.open(t.Context(), s.alice, "/api/v1/a2a/assistant", body).Body)
	var got bytes.Buffer
	fmt.Fprintf(&got, "> %s\n", body)
	for !strings.Contains(got.String(), `[{"text":"Count the orders"}]`) {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after\n%s", err, &got)
		}
		got.WriteString(line)
	}
	cancel := `{"jsonrpc":"2.0","id":2,"method":"CancelTask","params":{"id":"` + field(got.String(), "id") + `"}}`
	_, canceled := s.post(s.alice, "/api/v1/a2a/assistant", cancel)
	rest, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	_, again := s.post(s.alice, "/api/v1/a2a/assistant", cancel)
	fmt.Fprintf(&got, "%s> %s\n%s\n> again\n%s", rest, cancel, canceled, again)
	golden.Assert(t, "streams/canceled.txt", golden.Scrub(got.Bytes()))
	if status, run := s.call(s.alice, http.MethodGet, "/api/v1/query/runs/"+field(got.String(), "id"), ""); status != http.StatusOK ||
		!strings.Contains(run, `"status":"failed"`) || !strings.Contains(run, `"errorMessage":"canceled"`) {
		t.Errorf("run: %d %s", status, run)
	}
}

func TestGoldenStreamModelDown(t *testing.T) {
	t.Parallel()
	model := newModel(t)
	model.server.Close()
	s := serveShop(t, model.env())
	var got bytes.Buffer
	for _, agent := range []string{"nl2ql", "assistant"} {
		_, stream := s.post(s.alice, "/api/v1/a2a/"+agent, a2aBody("SendStreamingMessage", "How many orders are there?", ""))
		fmt.Fprintf(&got, "> %s\n%s", agent, stream)
	}
	golden.Assert(t, "streams/model-down.txt", golden.Scrub(got.Bytes()))
}

// The same question gives the same result, whichever way it comes in, and leaves
// one run and one turn of one shape.
func TestOnePathForQuestions(t *testing.T) {
	t.Parallel()
	model := newModel(t,
		plans("How many", "One count will do.", "How many orders are there?"),
		queries("How many orders", "Every row is an order.", "SELECT city, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1"),
		answers("How many", "There are **4** orders. [step 1]"),
	)
	s := serveShop(t, model.env())
	const question = "How many orders are there?"
	rest := toJSON(map[string]string{"username": "self", "namespace": "shop", "query": question})
	turns := map[string]string{}
	for way, ask := range map[string]func() string{
		"SendMessage": func() string {
			_, text := s.post(s.alice, "/api/v1/a2a/assistant", a2aBody("SendMessage", question, ""))
			return field(text, "contextId")
		},
		"SendStreamingMessage": func() string {
			_, text := s.post(s.alice, "/api/v1/a2a/assistant", a2aBody("SendStreamingMessage", question, ""))
			return field(text, "contextId")
		},
		"ask": func() string {
			_, text := s.post(s.alice, "/api/v1/query/ask", rest)
			return field(text, "conversationId")
		},
		"autorag": func() string {
			_, text := s.post(s.alice, "/api/v1/query/autorag", rest)
			return field(text, "conversationId")
		},
	} {
		id := ask()
		status, text := s.call(s.alice, http.MethodGet, "/api/v1/query/conversations/"+id, "")
		var conversation struct{ Turns []json.RawMessage }
		if err := json.Unmarshal([]byte(text), &conversation); err != nil || status != http.StatusOK || len(conversation.Turns) != 1 {
			t.Errorf("%s: conversation %q: %d %s", way, id, status, text)
			continue
		}
		turns[way] = string(golden.Scrub(conversation.Turns[0]))
	}
	for way, turn := range turns {
		if turn != turns["SendMessage"] {
			t.Errorf("%s left\n%s\nSendMessage\n%s", way, turn, turns["SendMessage"])
		}
	}
	golden.Assert(t, "streams/turn.txt", []byte(turns["SendMessage"]+"\n"))
	_, list := s.post(s.alice, "/api/v1/a2a/assistant", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
	if !strings.Contains(list, `"totalSize":4`) {
		t.Errorf("%s", list)
	}
}
