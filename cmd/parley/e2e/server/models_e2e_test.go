package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/logtest"
)

// modelCase is a way that models have, and what comes of a question to one.
type modelCase struct {
	does func(m *e2etest.StandinModel, w http.ResponseWriter, r *http.Request, q e2etest.Prompt)
	// code and reason are those of the run's failure; "" when it is completed.
	code, reason string
	// check looks at what a model was asked, where that matters.
	check func(t *testing.T, all []e2etest.Prompt)
}

const (
	goodQuestion = "How many orders are there?"
	goodAnswer   = "There are **4** orders. [step 1]"
	unreachable  = "MODEL_UNAVAILABLE"
)

// doWell does each job as it should be done.
func doWell(m *e2etest.StandinModel, w http.ResponseWriter, _ *http.Request, q e2etest.Prompt) {
	m.Say(w, q, wellDone(q.Job))
}

func wellDone(job string) string {
	switch job {
	case e2etest.PlanJob:
		return e2etest.Plans("", "One count will do.", goodQuestion).Says
	case e2etest.QueryJob:
		return e2etest.Queries("", "Every row is an order.", "SELECT count(*) AS n FROM orders").Says
	}
	return goodAnswer
}

// refuses answers with a status, and repeats the key as some providers do.
func refuses(code int) func(*e2etest.StandinModel, http.ResponseWriter, *http.Request, e2etest.Prompt) {
	return func(m *e2etest.StandinModel, w http.ResponseWriter, r *http.Request, _ e2etest.Prompt) {
		key := e2etest.ProviderKey
		if m.Provider == "ollama" {
			key = "" // it was given none
		}
		if code == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "1")
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"error":{"message":"no: %s at http://%s"}}`, key, r.Host)
	}
}

// breaksOff sends the first half of an answer.
func breaksOff(m *e2etest.StandinModel, w http.ResponseWriter, _ *http.Request, q e2etest.Prompt) {
	events := m.Events(q, wellDone(q.Job))
	m.Send(w, events[:len(events)/2]...)
	panic(http.ErrAbortHandler)
}

// stalls sends the first half of an answer, and then nothing.
func stalls(m *e2etest.StandinModel, w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
	events := m.Events(q, wellDone(q.Job))
	m.Send(w, events[:len(events)/2]...)
	<-r.Context().Done()
}

func hangs(_ *e2etest.StandinModel, _ http.ResponseWriter, r *http.Request, _ e2etest.Prompt) {
	<-r.Context().Done()
}

// rambles begins an answer that has no end.
func rambles(m *e2etest.StandinModel, w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
	events := m.Events(q, `{"sql":"`+strings.Repeat("and so on ", 20_000))
	m.Send(w, events[:3]...)
	for r.Context().Err() == nil {
		m.Send(w, events[3:len(events)-4]...)
	}
}

// once has the first request answered in one way and the others well.
func once(first func(*e2etest.StandinModel, http.ResponseWriter, *http.Request, e2etest.Prompt)) func(*e2etest.StandinModel, http.ResponseWriter, *http.Request, e2etest.Prompt) {
	return func(m *e2etest.StandinModel, w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
		if q.N > 0 {
			doWell(m, w, r, q)
			return
		}
		first(m, w, r, q)
	}
}

func says(text func(q e2etest.Prompt) string) func(*e2etest.StandinModel, http.ResponseWriter, *http.Request, e2etest.Prompt) {
	return func(m *e2etest.StandinModel, w http.ResponseWriter, _ *http.Request, q e2etest.Prompt) {
		m.Say(w, q, text(q))
	}
}

// chats answers in words where JSON is wanted, with the JSON amid them.
func chats(m *e2etest.StandinModel, w http.ResponseWriter, _ *http.Request, q e2etest.Prompt) {
	if text := wellDone(q.Job); q.Job == e2etest.AnswerJob {
		m.Say(w, q, text)
	} else {
		q.Shaped = false // words, not the input of a tool
		m.Say(w, q, "Sure {gladly}! Here it is:\n```json\n"+text+"\n```\nIs there anything {else}?")
	}
}

// mistakes writes a query with a wrong column until it is told.
func mistakes(q e2etest.Prompt) string {
	switch {
	case q.Job == e2etest.QueryJob && strings.Contains(q.Text, "amout"):
		return e2etest.Queries("", "The column is called amount.", "SELECT count(amount) AS n FROM orders").Says
	case q.Job == e2etest.QueryJob:
		return e2etest.Queries("", "By amount.", "SELECT count(amout) AS n FROM orders").Says
	}
	return wellDone(q.Job)
}

// trespasses writes a query that is refused, told or not.
func trespasses(q e2etest.Prompt) string {
	if q.Job == e2etest.QueryJob {
		return e2etest.Queries("", "It is in a file.", "SELECT * FROM read_csv('/etc/passwd')").Says
	}
	return wellDone(q.Job)
}

// askedFor returns the requests for queries.
func askedFor(t *testing.T, all []e2etest.Prompt, job string, want int) []e2etest.Prompt {
	t.Helper()
	var some []e2etest.Prompt
	for _, q := range all {
		if q.Job == job {
			some = append(some, q)
		}
	}
	if len(some) != want {
		t.Fatalf("asked %d times for %q, want %d", len(some), job, want)
	}
	return some
}

func holdsAll(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("no %q in\n%s", word, text)
		}
	}
}

func times(want int) func(*testing.T, []e2etest.Prompt) {
	return func(t *testing.T, all []e2etest.Prompt) {
		t.Helper()
		if len(all) != want {
			t.Errorf("asked %d times, want %d", len(all), want)
		}
	}
}

var modelCases = map[string]modelCase{
	"good":         {does: doWell},
	"unauthorized": {does: refuses(401), code: unreachable, reason: "does not accept the API key that is set", check: times(1)},
	"busy": {does: once(refuses(429)), check: func(t *testing.T, all []e2etest.Prompt) {
		if waited := all[1].At.Sub(all[0].At); waited < time.Second {
			t.Errorf("asked again after %v, not the second that was asked for", waited)
		}
	}},
	"always-busy": {does: refuses(429), code: unreachable, reason: "has too many requests; try again later", check: times(3)},
	"broken":      {does: refuses(500), code: unreachable, reason: "has an internal problem (500); try again later", check: times(3)},
	"cut":         {does: breaksOff, code: unreachable, reason: "stopped in the middle of its answer", check: times(3)},
	"cut-once":    {does: once(breaksOff)},
	"empty":       {does: says(func(e2etest.Prompt) string { return "" }), code: unreachable, reason: "gave no answer that can be used", check: times(2)},
	"endless":     {does: rambles, code: unreachable, reason: "gave no answer that can be used", check: times(2)},
	"prose":       {does: chats},
	"wrong": {does: once(says(func(e2etest.Prompt) string { return `{"sql":["SELECT 1"],"steps":7}` })), check: func(t *testing.T, all []e2etest.Prompt) {
		holdsAll(t, all[1].Text, "That cannot be used: the JSON cannot be read", `"steps":7`)
	}},
	"always-wrong": {does: says(func(e2etest.Prompt) string { return `{"thoughts":"none"}` }), code: unreachable, reason: "gave no answer that can be used", check: times(2)},
	"mistaken": {does: says(mistakes), check: func(t *testing.T, all []e2etest.Prompt) {
		again := askedFor(t, all, e2etest.QueryJob, 2)[1]
		holdsAll(t, again.Text, "tried: SELECT count(amout) AS n FROM orders", "why it failed: ", "`amout`",
			`"orders" has the columns: "id", "customer", "city", "amount", "day"`, `"amout" is not there; there is: "amount" in "orders"`)
		holdsAll(t, again.System, "Earlier tries failed")
	}},
	"trespassing": {does: says(trespasses), code: "QUERY_FAILED", reason: "the query could not be run: function `read_csv` is not allowed in FROM",
		check: func(t *testing.T, all []e2etest.Prompt) {
			holdsAll(t, askedFor(t, all, e2etest.QueryJob, 2)[1].Text, "why it failed: function `read_csv` is not allowed in FROM")
		}},
}

var hangingCases = map[string]modelCase{
	"hang":  {does: hangs, code: unreachable, reason: "did not answer in time"},
	"stall": {does: stalls, code: unreachable, reason: "did not answer in time"},
}

// TestModelsEndToEnd asks both agents with models that do well and badly, in each
// provider's protocol: over A2A, and by REST.
func TestModelsEndToEnd(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	for _, provider := range []string{"openai", "anthropic", "ollama"} {
		t.Run(provider, func(t *testing.T) {
			t.Parallel()
			testModels(t, provider, modelCases)
		})
		t.Run(provider+"/hanging", func(t *testing.T) {
			t.Parallel()
			testModels(t, provider, hangingCases, "--llm-timeout", "300ms")
		})
	}
}

// modelWorld is a server with a provider whose models are the cases, one of each
// for each agent: those that fail are left alone for a while.
type modelWorld struct {
	e2etest.Client
	model *e2etest.StandinModel
	// got is all that a client got.
	got logtest.Buffer
}

func testModels(t *testing.T, provider string, cases map[string]modelCase, args ...string) {
	model := e2etest.NewProvider(t, provider, nil)
	model.Does(func(w http.ResponseWriter, r *http.Request, q e2etest.Prompt) {
		name, _, _ := strings.Cut(q.Model, "/")
		cases[name].does(model, w, r, q)
	})
	var specs []string
	for name := range cases {
		specs = append(specs, provider+":"+name+"/nl2ql", provider+":"+name+"/assistant")
	}
	env := append(model.Address(), "PARLEY_LLM="+strings.Join(specs, ","), "PARLEY_LOG_LEVEL=debug")
	world := &modelWorld{Client: e2etest.ServeShop(t, env, args...), model: model}
	// They wait for retries together.
	streams := make(map[string]*string, len(specs))
	var asking sync.WaitGroup
	for name := range cases {
		for agent, ask := range map[string]func(string) string{"nl2ql": world.askA2A, "assistant": world.askREST} {
			spec, stream := name+"/"+agent, new(string)
			streams[spec] = stream
			asking.Go(func() { *stream = ask(spec) })
		}
	}
	asking.Wait()
	for name, test := range cases {
		t.Run(name, func(t *testing.T) {
			checkA2A(t, *streams[name+"/nl2ql"], test)
			checkREST(t, *streams[name+"/assistant"], test)
			world.checkRun(t, e2etest.Field(*streams[name+"/nl2ql"], "taskId"), test)
			world.checkRun(t, e2etest.Field(*streams[name+"/assistant"], "runId"), test)
			if test.check != nil {
				test.check(t, model.Requests(name+"/nl2ql"))
				test.check(t, model.Requests(name+"/assistant"))
			}
		})
	}
	world.checkSecrets(t)
}

// send sends a request of alice's and notes the answer.
func (world *modelWorld) send(method, path, body string) string {
	_, text, err := world.Try(world.Token, method, path, strings.NewReader(body))
	if err != nil {
		world.T.Error(err) // it may not be the test that runs
	}
	fmt.Fprintln(&world.got, text)
	return text
}

// askA2A asks nl2ql over A2A.
func (world *modelWorld) askA2A(model string) string {
	return world.send(http.MethodPost, "/api/v1/a2a/nl2ql", choosing("SendStreamingMessage", e2etest.Object{"provider": world.model.Provider, "model": model}))
}

func checkA2A(t *testing.T, stream string, want modelCase) {
	t.Helper()
	if want.code == "" {
		if strings.Count(stream, "data: ") != 4 || !strings.Contains(stream, `"rows":[{"n":4,`) || !strings.Contains(stream, "TASK_STATE_COMPLETED") {
			t.Errorf("stream\n%s", stream)
		}
		return
	}
	var last struct {
		Result struct {
			StatusUpdate struct {
				Status struct {
					State   string
					Message struct {
						Parts []struct {
							Text string
							Data struct{ Code, Query string }
						}
					}
				}
			}
		}
	}
	lines := strings.Split(strings.TrimSpace(stream), "\ndata: ")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil {
		t.Fatalf("%v\n%s", err, stream)
	}
	status := last.Result.StatusUpdate.Status
	if parts := status.Message.Parts; status.State != "TASK_STATE_FAILED" || len(parts) != 2 ||
		!strings.Contains(parts[0].Text, want.reason) || parts[1].Data.Code != want.code || (parts[1].Data.Query != "") != (want.code == "QUERY_FAILED") {
		t.Errorf("want %s: %s, got\n%s", want.code, want.reason, stream)
	}
}

// askREST asks the assistant by REST.
func (world *modelWorld) askREST(model string) string {
	return world.send(http.MethodPost, "/api/v1/query/ask", questionWith(e2etest.Object{"provider": world.model.Provider, "model": model}, "query"))
}

func checkREST(t *testing.T, stream string, want modelCase) {
	t.Helper()
	events := strings.Split(strings.TrimSpace(stream), "\n\n")
	last := events[len(events)-1]
	if want.code == "" {
		if last != "event: answer\ndata: "+e2etest.ToJSON(map[string]string{"response": goodAnswer}) {
			t.Errorf("stream\n%s", stream)
		}
	} else if !strings.HasPrefix(last, "event: error\ndata: {\"message\":\"") || !strings.Contains(last, want.reason) {
		t.Errorf("want an error: %s, got\n%s", want.reason, stream)
	}
}

// checkRun looks at the run's record.
func (world *modelWorld) checkRun(t *testing.T, id string, want modelCase) {
	t.Helper()
	text := world.send(http.MethodGet, "/api/v1/query/runs/"+id, "")
	var run struct{ Status, ErrorMessage string }
	if err := json.Unmarshal([]byte(text), &run); err != nil {
		t.Fatalf("run: %s", text)
	}
	if wanted := map[bool]string{true: "completed", false: "failed"}[want.code == ""]; run.Status != wanted {
		t.Errorf("run is %s", text)
	}
	if !strings.Contains(run.ErrorMessage, want.reason) || len(run.ErrorMessage) > 300 || (run.ErrorMessage == "") != (want.code == "") {
		t.Errorf("the run says %q, want %q", run.ErrorMessage, want.reason)
	}
}

// checkSecrets looks for the key everywhere, and in what clients got for what is
// ours alone.
func (world *modelWorld) checkSecrets(t *testing.T) {
	t.Helper()
	_, host, _ := strings.Cut(world.model.Server.URL, "://")
	for _, secret := range []string{e2etest.ProviderKey, host, "127.0.0.1", "panic", "goroutine", ".go:", "langchain", "context deadline", "EOF", "<nil>", "%!"} {
		if strings.Contains(world.got.String(), secret) {
			t.Errorf("clients got %q:\n%s", secret, world.got.String())
		}
	}
	world.Signal(syscall.SIGTERM)
	if code := world.Wait(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	if log := world.Log.String(); strings.Contains(log, e2etest.ProviderKey) {
		t.Error("the key is in the log")
	} else if !strings.Contains(log, "msg=\"run failed\"") || !strings.Contains(log, "cause=") {
		t.Error("why runs failed is not in the log")
	}
	files := 0
	err := filepath.WalkDir(world.Dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if files++; bytes.Contains(content, []byte(e2etest.ProviderKey)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	})
	if err != nil || files < 2 {
		t.Errorf("looked at %d files: %v", files, err)
	}
}
