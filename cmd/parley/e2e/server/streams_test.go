package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/golden"
)

// TestGoldenStreams shows whole streams, byte for byte but for ids and times.
func TestGoldenStreams(t *testing.T) {
	t.Parallel()
	count := e2etest.Queries("How many orders", "Every row is an order.", "SELECT count(*) AS n FROM orders")
	for name, test := range map[string]struct {
		agent string
		// asked are questions of one conversation.
		asked []string
		lines []e2etest.ModelLine
	}{
		"nl2ql": {agent: "nl2ql", asked: []string{"How many orders are there?"}, lines: []e2etest.ModelLine{count}},
		"nl2ql-rows": {agent: "nl2ql", asked: []string{"List them"}, lines: []e2etest.ModelLine{
			e2etest.Queries("List them", "All of them.", `SELECT * FROM orders WHERE amount > 9 AND city <> 'Paris' ORDER BY id`),
		}},
		"nl2ql-repaired": {agent: "nl2ql", asked: []string{"How much?"}, lines: []e2etest.ModelLine{
			e2etest.Queries("amnt", "The column is called amount.", "SELECT sum(amount) AS total FROM orders WHERE id < 4"),
			e2etest.Queries("How much?", "By amount.", "SELECT sum(amnt) AS total FROM orders"),
		}},
		"nl2ql-refused": {agent: "nl2ql", asked: []string{"Read the passwords"}, lines: []e2etest.ModelLine{
			e2etest.Queries("passwords", "They are in a file.", "SELECT * FROM read_csv('/etc/passwd')"),
		}},
		"nl2ql-unanswerable": {agent: "nl2ql", asked: []string{"What is the weather?"}, lines: []e2etest.ModelLine{
			{Job: e2etest.QueryJob, Says: e2etest.ToJSON(map[string]any{"reasoning": "", "unanswerable": "No dataset tells of the weather.", "sql": "", "search_dataset": "", "search_words": "", "search_limit": 0, "confidence": 0})},
		}},
		"assistant": {agent: "assistant", asked: []string{"How many orders are there?"}, lines: []e2etest.ModelLine{
			e2etest.Plans("How many", "One count will do.", "How many orders are there?"), count,
			e2etest.Answers("How many", "There are **4** orders. [step 1]"),
		}},
		"assistant-three-steps": {agent: "assistant", asked: []string{"Who buys most, where, and since when?"}, lines: []e2etest.ModelLine{
			e2etest.Plans("Who buys", "Find the customer, then the rest.", "Find who ordered most often", "Find that customer's cities", "Find since when that customer is one"),
			e2etest.Queries("since when that customer is", "", "SELECT since FROM customers WHERE name = 'Ada'"),
			e2etest.Queries("that customer's cities", "", "SELECT DISTINCT city FROM orders WHERE customer = 'Ada'"),
			e2etest.Queries("ordered most often", "", "SELECT customer, count(*) AS n FROM orders GROUP BY 1 ORDER BY n DESC LIMIT 1"),
			e2etest.Answers("", "**Ada**, in Berlin, since 2019. [step 1] [step 2] [step 3]"),
		}},
		"assistant-failing-step": {agent: "assistant", asked: []string{"How many, and how heavy?"}, lines: []e2etest.ModelLine{
			e2etest.Plans("how heavy", "Two figures.", "How many orders are there?", "How heavy are they?"),
			e2etest.Queries("How heavy", "By weight.", "SELECT avg(weight) FROM orders"), count,
		}},
		"assistant-follow-up": {agent: "assistant", asked: []string{"How many orders are there?", "And in Berlin?"}, lines: []e2etest.ModelLine{
			// It knows what was asked and answered before.
			e2etest.Plans("There are **4** orders.", "The same, for Berlin.", "Count the Berlin ones"),
			e2etest.Plans("How many", "One count will do.", "How many orders are there?"),
			e2etest.Queries("Count the Berlin ones", "", "SELECT count(*) AS n FROM orders WHERE city = 'Berlin'"), count,
			e2etest.Answers("Count the Berlin ones", "There are **2** in Berlin. [step 1]"),
			e2etest.Answers("How many", "There are **4** orders. [step 1]"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := e2etest.ServeShop(t, e2etest.NewModel(t, test.lines...).Env())
			var got bytes.Buffer
			contextID := ""
			for _, question := range test.asked {
				body := e2etest.A2ABody("SendStreamingMessage", question, contextID)
				_, stream := s.Post(s.Token, "/api/v1/a2a/"+test.agent, body)
				fmt.Fprintf(&got, "> %s\n%s", body, stream)
				contextID = e2etest.Field(stream, "contextId")
			}
			golden.Assert(t, "streams/"+name+".txt", golden.Scrub(got.Bytes()))
		})
	}
}

func TestGoldenStreamOfNoNamespace(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	var got bytes.Buffer
	for _, namespace := range []any{"nowhere", "bob/shop", "", 7, "a/b/c"} {
		body := strings.Replace(e2etest.A2ABody("SendStreamingMessage", "How many?", ""), `"shop"`, e2etest.ToJSON(namespace), 1)
		_, answer := s.Post(s.Token, "/api/v1/a2a/nl2ql", body)
		fmt.Fprintf(&got, "> %s\n%s\n", body, answer)
	}
	_, list := s.Post(s.Token, "/api/v1/a2a/nl2ql", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
	fmt.Fprintf(&got, "ListTasks: %s", list)
	golden.Assert(t, "streams/no-namespace.txt", golden.Scrub(got.Bytes()))
}

// A run that is canceled while its model thinks ends at once, for the one who
// canceled and for those who watch.
func TestGoldenStreamCanceled(t *testing.T) {
	t.Parallel()
	model := e2etest.NewModel(t,
		e2etest.Plans("How many", "One count will do.", "Count the orders"),
		e2etest.ModelLine{Job: e2etest.QueryJob, Words: "Count the orders", Hang: true},
	)
	s := e2etest.ServeShop(t, model.Env())
	body := e2etest.A2ABody("SendStreamingMessage", "How many orders are there?", "")
	stream := bufio.NewReader(s.Open(t.Context(), s.Token, "/api/v1/a2a/assistant", body).Body)
	var got bytes.Buffer
	fmt.Fprintf(&got, "> %s\n", body)
	for !strings.Contains(got.String(), `[{"text":"Count the orders"}]`) {
		line, err := stream.ReadString('\n')
		if err != nil {
			t.Fatalf("%v after\n%s", err, &got)
		}
		got.WriteString(line)
	}
	cancel := `{"jsonrpc":"2.0","id":2,"method":"CancelTask","params":{"id":"` + e2etest.Field(got.String(), "id") + `"}}`
	_, canceled := s.Post(s.Token, "/api/v1/a2a/assistant", cancel)
	rest, err := io.ReadAll(stream)
	if err != nil {
		t.Fatal(err)
	}
	_, again := s.Post(s.Token, "/api/v1/a2a/assistant", cancel)
	fmt.Fprintf(&got, "%s> %s\n%s\n> again\n%s", rest, cancel, canceled, again)
	golden.Assert(t, "streams/canceled.txt", golden.Scrub(got.Bytes()))
	if status, run := s.Call(s.Token, http.MethodGet, "/api/v1/query/runs/"+e2etest.Field(got.String(), "id"), ""); status != http.StatusOK ||
		!strings.Contains(run, `"status":"failed"`) || !strings.Contains(run, `"errorMessage":"canceled"`) {
		t.Errorf("run: %d %s", status, run)
	}
}

func TestGoldenStreamModelDown(t *testing.T) {
	t.Parallel()
	model := e2etest.NewModel(t)
	model.Server.Close()
	s := e2etest.ServeShop(t, model.Env())
	var got bytes.Buffer
	for _, agent := range []string{"nl2ql", "assistant"} {
		_, stream := s.Post(s.Token, "/api/v1/a2a/"+agent, e2etest.A2ABody("SendStreamingMessage", "How many orders are there?", ""))
		fmt.Fprintf(&got, "> %s\n%s", agent, stream)
	}
	golden.Assert(t, "streams/model-down.txt", golden.Scrub(got.Bytes()))
}

// The same question gives the same result, whichever way it comes in, and leaves
// one run and one turn of one shape.
func TestOnePathForQuestions(t *testing.T) {
	t.Parallel()
	model := e2etest.NewModel(t,
		e2etest.Plans("How many", "One count will do.", "How many orders are there?"),
		e2etest.Queries("How many orders", "Every row is an order.", "SELECT city, count(*) AS n FROM orders GROUP BY 1 ORDER BY 1"),
		e2etest.Answers("How many", "There are **4** orders. [step 1]"),
	)
	s := e2etest.ServeShop(t, model.Env())
	const question = "How many orders are there?"
	rest := e2etest.ToJSON(map[string]string{"username": "self", "namespace": "shop", "query": question})
	turns := map[string]string{}
	for way, ask := range map[string]func() string{
		"SendMessage": func() string {
			_, text := s.Post(s.Token, "/api/v1/a2a/assistant", e2etest.A2ABody("SendMessage", question, ""))
			return e2etest.Field(text, "contextId")
		},
		"SendStreamingMessage": func() string {
			_, text := s.Post(s.Token, "/api/v1/a2a/assistant", e2etest.A2ABody("SendStreamingMessage", question, ""))
			return e2etest.Field(text, "contextId")
		},
		"ask": func() string {
			_, text := s.Post(s.Token, "/api/v1/query/ask", rest)
			return e2etest.Field(text, "conversationId")
		},
		"autorag": func() string {
			_, text := s.Post(s.Token, "/api/v1/query/autorag", rest)
			return e2etest.Field(text, "conversationId")
		},
	} {
		id := ask()
		status, text := s.Call(s.Token, http.MethodGet, "/api/v1/query/conversations/"+id, "")
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
	_, list := s.Post(s.Token, "/api/v1/a2a/assistant", `{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}`)
	if !strings.Contains(list, `"totalSize":4`) {
		t.Errorf("%s", list)
	}
}
