package rest_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/rest"
	"parley/storage/sqlstore"
)

const aQuestion = `{"username":"self","namespace":"shop","query":"How many orders?"}`

// askingService is a service with a dataset to ask about, whose runs come to
// what follow says.
func askingService(t *testing.T, follow func(ctx context.Context, runID string, yield func(domain.Progress, error) bool), change ...func(*rest.Config)) *service {
	t.Helper()
	s := newService(t, sqlstoretest.SQLite(t), change...)
	s.create("alice", "shop", "orders")
	s.agents.follow = follow
	return s
}

// open sends a question to be read as it is answered.
func (s *service) open(ctx context.Context, server *httptest.Server, path, body string) *http.Response {
	s.t.Helper()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+rest.Root+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token("alice"))
	response, err := server.Client().Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = response.Body.Close() })
	return response
}

func TestWhatIsAsked(t *testing.T) {
	t.Parallel()
	s := askingService(t, nil)
	ask := func(path, body string) domain.Question {
		t.Helper()
		if got := s.send("alice", http.MethodPost, path, "application/json", body); got.status != http.StatusOK {
			t.Fatalf("%s: %d %s", body, got.status, got.body)
		}
		return s.agents.asked
	}
	shop := domain.NamespaceRef{Owner: "alice", Name: "shop"}
	longest := strings.Repeat("é", domain.MaxQuestion/2)
	for name, test := range map[string]struct {
		path, body string
		want       domain.Question
	}{
		"least": {"/query/ask", aQuestion, domain.Question{Agent: "assistant", Namespace: shop, Text: "How many orders?"}},
		"most": {"/query/autorag",
			`{"username":"ALICE","namespace":"shop","query":" <why> ","helperPrompt":"be short","model":"m","provider":"p","agent":"nl2ql"}`,
			domain.Question{Agent: "nl2ql", Namespace: shop, Text: " <why> ", HelperPrompt: "be short", Model: "m", Provider: "p", NeverAsk: true}},
		"nulls": {"/query/ask", `{"username":"self","namespace":"shop","query":"x","helperPrompt":null,"model":null,"conversationId":null,"agent":null}`,
			domain.Question{Agent: "assistant", Namespace: shop, Text: "x"}},
		"longest": {"/query/ask", `{"username":"self","namespace":"shop","query":"` + longest + `"}`,
			domain.Question{Agent: "assistant", Namespace: shop, Text: longest}},
		"for rows": {"/query", `{"username":"self","namespace":"shop","naturalLanguageQuery":"x","model":"m","provider":"p","helperPrompt":7}`,
			domain.Question{Agent: "nl2ql", Namespace: shop, Text: "x", Model: "m", Provider: "p", NeverAsk: true}},
		"for rows of a dataset": {"/query", `{"username":"self","namespace":"shop","dataset":"Orders","naturalLanguageQuery":"x"}`,
			domain.Question{Agent: "nl2ql", Namespace: shop, Text: "x", HelperPrompt: "The question is about the dataset Orders.", NeverAsk: true}},
	} {
		if got := ask(test.path, test.body); !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %+v, want %+v", name, got, test.want)
		}
	}
	for _, path := range []string{"/query/ask", "/query/autorag", "/query"} {
		const asked = `{"username":"self","namespace":"shop","query":"x","minConfidence":`
		for least, want := range map[string]any{"0": 0., "0.45": 0.45, "1": 1., "null": nil} {
			body := asked + least + "}"
			if path == "/query" {
				body = strings.Replace(body, "query", "naturalLanguageQuery", 1)
			}
			if got := ask(path, body).MinConfidence; (got == nil) != (want == nil) || got != nil && *got != want {
				t.Errorf("%s %s: %v", path, body, got)
			}
		}
	}
}

// TestDegreesOfCertainty has a run with a likely answer: each response says so, and what else the
// question could mean.
func TestDegreesOfCertainty(t *testing.T) {
	t.Parallel()
	step := domain.Step{Query: "SELECT 1", Data: []json.RawMessage{json.RawMessage(`{"n":1}`)}, Confidence: 0.55, Certainty: "likely",
		Alternatives: []domain.InputOption{{ID: "1", Label: "orders by total", Query: "SELECT 2"}}}
	var s *service
	s = askingService(t, func(ctx context.Context, runID string, yield func(domain.Progress, error) bool) {
		yield(domain.Progress{Kind: domain.StepDone, Step: step}, nil)
		if err := sqlstoretest.Finish(ctx, s.agents.store, domain.Caller{Username: "alice"}, runID, domain.RunOutcome{Status: domain.RunCompleted, Result: json.RawMessage(`{}`)}); err != nil {
			t.Error(err)
		}
	})
	const want = `"confidence":0.55,"certainty":"likely","alternatives":[{"id":"1","label":"orders by total","query":"SELECT 2"}]}`
	for path, body := range map[string]string{
		"/query/ask": aQuestion,
		"/query":     `{"username":"self","namespace":"shop","naturalLanguageQuery":"How many orders?","minConfidence":0.4}`,
	} {
		if got := s.send("alice", http.MethodPost, path, "application/json", body); got.status != http.StatusOK || !strings.Contains(got.body, want) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
}

// A user with too many streams gets 429, and no run starts.
func TestTooManyStreams(t *testing.T) {
	t.Parallel()
	s := askingService(t, nil)
	s.create("streamer", "shop", "orders")
	if got := s.send("streamer", http.MethodPost, "/query/ask", "application/json", aQuestion); got.status != http.StatusTooManyRequests {
		t.Errorf("ask: %d %s", got.status, got.body)
	}
	if s.agents.asked.Text != "" {
		t.Errorf("it was asked: %+v", s.agents.asked)
	}
	run, err := sqlstoretest.Ask(t.Context(), s.agents.store, domain.Caller{Username: "streamer"}, domain.Question{
		Agent: "assistant", Namespace: domain.NamespaceRef{Owner: "streamer", Name: "shop"}, ConversationID: domain.NewID(), Text: "?"})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.send("streamer", http.MethodPost, "/query/runs/"+run.RunID+"/resume", "", ""); got.status != http.StatusTooManyRequests {
		t.Errorf("resume: %d %s", got.status, got.body)
	}
}

func TestLimitsOfAQuestion(t *testing.T) {
	t.Parallel()
	s := askingService(t, nil)
	long := func(n int) string { return strings.Repeat("x", n) }
	for _, path := range []string{"/query/ask", "/query/autorag"} {
		for name, member := range map[string]string{
			"question":      `"query":"` + long(domain.MaxQuestion+1) + `"`,
			"bytes":         `"query":"` + strings.Repeat("é", domain.MaxQuestion/2+1) + `"`,
			"helper prompt": `"helperPrompt":"` + long(10_001) + `"`,
			"model":         `"model":"` + long(201) + `"`,
			"provider":      `"provider":"` + long(201) + `"`,
		} {
			body := strings.TrimSuffix(aQuestion, "}") + "," + member + "}"
			s.checkError(path+": "+name, s.send("alice", http.MethodPost, path, "application/json", body), http.StatusUnprocessableEntity, "VALIDATION_FAILED")
		}
	}
	large := `{"x":"` + long(1<<20) + `"}`
	for _, path := range []string{"/query/ask", "/a2a/nl2ql", "/a2a/nl2ql/"} {
		s.checkError(path, s.send("alice", http.MethodPost, path, "application/json", large), http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE")
		s.checkError(path, s.send("-", http.MethodPost, path, "application/json", large), http.StatusUnauthorized, "UNAUTHORIZED")
		s.checkError(path, s.send("alice", http.MethodPost, path, "text/plain", "{}"), http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE")
	}
}

// TestOneRunOneResult asks the same in every way, and sees that what is answered
// is what the run and its conversation have.
func TestOneRunOneResult(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.create("alice", "shop", "orders")
		got := s.send("alice", http.MethodPost, "/query/autorag", "application/json", aQuestion)
		var answered struct {
			Response, RunID, ConversationID string
			Steps                           json.RawMessage
		}
		var run struct {
			Status string
			Result struct {
				Response string
				Steps    json.RawMessage
			}
		}
		if err := json.Unmarshal([]byte(got.body), &answered); err != nil {
			t.Fatalf("%d %s", got.status, got.body)
		}
		got = s.send("alice", http.MethodGet, "/query/runs/"+answered.RunID, "", "")
		if err := json.Unmarshal([]byte(got.body), &run); err != nil {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if run.Status != "completed" || run.Result.Response != answered.Response || string(run.Result.Steps) != string(answered.Steps) {
			t.Errorf("answered %+v, kept %+v", answered, run)
		}
		// A question that builds on it joins its conversation.
		follow := strings.TrimSuffix(aQuestion, "}") + `,"conversationId":"` + answered.ConversationID + `"}`
		s.send("alice", http.MethodPost, "/query/ask", "application/json", follow)
		got = s.send("alice", http.MethodGet, "/query/conversations/"+answered.ConversationID, "", "")
		if n := strings.Count(got.body, `"status":"completed"`); n != 2 {
			t.Errorf("%d turns: %s", n, got.body)
		}
		// It is nobody else's.
		s.create("bob", "shop", "orders")
		got = s.send("bob", http.MethodPost, "/query/ask", "application/json", follow)
		s.checkError("somebody else's conversation", got, http.StatusNotFound, "NOT_FOUND")
	})
}

// TestARunThatTakesTooLong has a request wait for a run that does not end.
func TestARunThatTakesTooLong(t *testing.T) {
	t.Parallel()
	var id string
	s := askingService(t, func(ctx context.Context, runID string, yield func(domain.Progress, error) bool) {
		id = runID
		<-ctx.Done()
		yield(domain.Progress{}, ctx.Err())
	}, func(cfg *rest.Config) { cfg.RunTimeout = 10 * time.Millisecond })
	for path, body := range map[string]string{
		"/query/autorag": aQuestion,
		"/query":         `{"username":"self","namespace":"shop","naturalLanguageQuery":"How many orders?"}`,
	} {
		got := s.send("alice", http.MethodPost, path, "application/json", body)
		s.checkError(path, got, http.StatusServiceUnavailable, "UNAVAILABLE")
		if !strings.Contains(got.body, id) {
			t.Errorf("%s does not name the run %s: %s", path, id, got.body)
		}
		if run := s.send("alice", http.MethodGet, "/query/runs/"+id, "", ""); !strings.Contains(run.body, `"running"`) {
			t.Errorf("the run does not go on: %s", run.body)
		}
	}
}

// TestAStreamOutlivesTheServersTimeouts asks a server whose connections have
// less time than its runs take.
func TestAStreamOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	s := askingService(t, func(ctx context.Context, _ string, yield func(domain.Progress, error) bool) {
		select {
		case <-ctx.Done():
			yield(domain.Progress{}, ctx.Err())
		case <-time.After(timeout * 3 / 2):
			yield(domain.Progress{Kind: domain.Answered, Text: "at last"}, nil)
		}
	})
	server := httptest.NewUnstartedServer(s.rest)
	server.Config.ReadTimeout, server.Config.WriteTimeout = timeout, timeout
	server.Start()
	t.Cleanup(server.Close)
	body, err := io.ReadAll(s.open(t.Context(), server, "/query/ask", aQuestion).Body)
	if err != nil || !strings.HasSuffix(string(body), "event: answer\ndata: {\"response\":\"at last\"}\n\n") {
		t.Errorf("%v after %q", err, body)
	}
}

// TestAStreamBeginsAtOnceAndEndsWithItsReader reads the start of a run, then
// leaves. The run goes on.
func TestAStreamBeginsAtOnceAndEndsWithItsReader(t *testing.T) {
	t.Parallel()
	ended := make(chan string, 1)
	s := askingService(t, func(ctx context.Context, runID string, yield func(domain.Progress, error) bool) {
		<-ctx.Done()
		yield(domain.Progress{}, ctx.Err())
		ended <- runID
	})
	ctx, leave := context.WithCancel(t.Context())
	response := s.open(ctx, s.server, "/query/ask", aQuestion)
	line, err := bufio.NewReader(response.Body).ReadString('\n')
	if err != nil || line != "event: run-started\n" || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Errorf("%q %v %v", line, response.Header, err)
	}
	leave()
	id := <-ended
	if run := s.send("alice", http.MethodGet, "/query/runs/"+id, "", ""); !strings.Contains(run.body, `"running"`) {
		t.Errorf("the run does not go on: %s", run.body)
	}
	s.server.Close() // waits for the request to be logged
	if log := s.log.String(); strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "/query/ask") || !strings.Contains(log, "went away") {
		t.Errorf("log: %s", log)
	}
	metrics := httptest.NewRecorder()
	s.rest.ServeHTTP(metrics, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody))
	counted := metrics.Body.String()
	if !strings.Contains(counted, `parley_http_requests_total{method="POST",route="/api/v1/query/ask",status="200"} 1`) ||
		strings.Contains(counted, `duration_seconds_count{method="POST",route="/api/v1/query/ask"`) {
		t.Errorf("metrics: %s", counted)
	}
}

// TestAReaderThatStallsIsCutOff opens a stream on a connection that nobody reads.
func TestAReaderThatStallsIsCutOff(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	s := askingService(t, func(_ context.Context, _ string, yield func(domain.Progress, error) bool) {
		defer close(ended)
		for line := (domain.Progress{Kind: domain.Answered, Text: strings.Repeat("x", 1<<20)}); yield(line, nil); {
		}
	}, func(cfg *rest.Config) { cfg.WriteTimeout = 50 * time.Millisecond })
	connection, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = connection.Close() }()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+rest.Root+"/query/ask", strings.NewReader(aQuestion))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token("alice"))
	if err := request.Write(connection); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestABrokenStreamIsBrokenOff has a run that cannot be followed to its end: the
// client must be able to tell, and not take it for a run that failed.
func TestABrokenStreamIsBrokenOff(t *testing.T) {
	t.Parallel()
	s := askingService(t, func(_ context.Context, _ string, yield func(domain.Progress, error) bool) {
		_ = yield(domain.Progress{Kind: domain.PlanningStarted}, nil) && yield(domain.Progress{}, errors.New("the disk is gone"))
	})
	body, err := io.ReadAll(s.open(t.Context(), s.server, "/query/ask", aQuestion).Body)
	if err == nil || !strings.HasSuffix(string(body), "event: planningStarted\ndata: {}\n\n") {
		t.Errorf("%v after %q", err, body)
	}
	s.server.Close()
	if log := s.log.String(); !strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, "the disk is gone") {
		t.Errorf("log: %s", log)
	}
}

// TestA2ABodiesAreTheHosts sends what is no JSON, which is answered in JSON-RPC.
func TestA2ABodiesAreTheHosts(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	for _, body := range []string{"", "{", "\xff", `{"jsonrpc":"2.0"}`} {
		for _, path := range []string{"/a2a/nl2ql", "/a2a/nl2ql/"} {
			got := s.send("alice", http.MethodPost, path, "application/json", body)
			var answer struct {
				Result struct {
					Agent, Caller string
					Body          []byte
				}
			}
			err := json.Unmarshal([]byte(got.body), &answer)
			if err != nil || answer.Result.Agent != "nl2ql" || answer.Result.Caller != "alice" || string(answer.Result.Body) != body {
				t.Errorf("%q to %s: %d %s", body, path, got.status, got.body)
			}
		}
	}
}
