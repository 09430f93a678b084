package rest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/rest"
)

// subErrors are the messages of the sub-errors in an answer.
func (s *service) subErrors(got answer) []string {
	s.t.Helper()
	var body struct {
		SubErrors []struct{ Code, Message string } `json:"sub_errors"`
	}
	if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != http.StatusUnprocessableEntity {
		s.t.Fatalf("%d %.200s", got.status, got.body)
	}
	messages := []string{}
	for _, sub := range body.SubErrors {
		if !strings.HasPrefix(sub.Message, sub.Code+" ") {
			s.t.Errorf("%q says %q", sub.Code, sub.Message)
		}
		messages = append(messages, sub.Message)
	}
	return messages
}

// TestWrongKeys sends rows whose keys cannot be columns: each is told of, and
// nothing is made.
func TestWrongKeys(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	many := func(n int) string {
		keys := make([]string, n)
		for i := range keys {
			keys[i] = fmt.Sprintf(`"k%d":1`, i)
		}
		return "{" + strings.Join(keys, ",") + "}"
	}
	long := strings.Repeat("x", 257)
	for rows, want := range map[string][]string{
		`{"":1},{"__x":2},{"a":[{"":1,"__y":2}]},{"__x":3}`: {"data[0] must not have an empty key", "data[1].__x must not start with __, which is for internal use"},
		`{"` + long + `":1,"b":"}"}`:                        {"data[0]." + long[:64-len("data[0].")] + "… must be at most 256 characters"},
		`{"a\u0000":1}`:                                     {`data[0].a\0 must not hold the character NUL`},
		`{"a":1},{"b":"\",\"A\":","A":2}`:                   {`data[1].A must not differ from "a" in case alone`},
		`{"a":1,"\u0061":2}`:                                {"data[0].a must not be there twice"},
		many(2001):                                          {"data must have at most 2000 different keys"},
		`{},{}`:                                             {"data must have a key in one of its rows"},
		`{"__a":1},7`:                                       {"data[1] must be an object", "data[0].__a must not start with __, which is for internal use"},
	} {
		for _, path := range []string{"/ingest/shop/rows", "/infer/preview"} {
			got := s.subErrors(s.send("alice", http.MethodPost, path, "application/json", `{"data":[`+rows+`],"dataDescription":1}`))
			if !slices.Equal(got, append(want, "dataDescription must be a string")) {
				t.Errorf("%s of %.60s: %q", path, rows, got)
			}
		}
	}
	wrong := strings.ReplaceAll(many(100), "k", "__")
	if got := s.subErrors(s.send("alice", http.MethodPost, "/ingest/shop/rows", "application/json", `{"data":[`+wrong+`]}`)); len(got) != 20 {
		t.Errorf("%d are told of", len(got))
	}
	if got := s.send("alice", http.MethodGet, "/data/self/shop/rows", "", ""); got.status != http.StatusNotFound {
		t.Errorf("a dataset was made: %s", got.body)
	}
	for _, rows := range []string{many(2000), `{},{"a":1},{"a":2,"é":1,"É":2}`, ``} {
		if got := s.send("alice", http.MethodPost, "/infer/preview", "application/json", `{"data":[`+rows+`]}`); got.status != http.StatusOK {
			t.Errorf("%.60s: %d %.200s", rows, got.status, got.body)
		}
	}
}

// TestWrongModel names models that are not set, and more that is wrong.
func TestWrongModel(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.create("alice", "shop", "orders")
	const model = "model is not set here; there is reader"
	for _, test := range []struct {
		path, body string
		want       []string
	}{
		{"/query/ask", `"query":"x"`, []string{model}},
		{"/query/autorag", `"query":"x","agent":"zz"`, []string{model, "agent must be 'assistant' or 'nl2ql'"}},
		{"/query", `"naturalLanguageQuery":"x","dataset":"-"`, []string{model, "dataset "}},
		{"/infer/schema", `"sample":1`, []string{"sample must be a list of objects", model}},
	} {
		got := s.subErrors(s.send("alice", http.MethodPost, test.path, "application/json", `{"username":"self","namespace":"shop","model":"unset",`+test.body+`}`))
		if !slices.EqualFunc(got, test.want, strings.HasPrefix) {
			t.Errorf("%s: %q", test.path, got)
		}
	}
}

// TestRowsByOddColumns sorts by a column whose name would be SQL.
func TestRowsByOddColumns(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	name := `a"; DROP TABLE odd; --`
	data, err := json.Marshal(map[string]any{"data": []map[string]int{{name: 2}, {name: 1}, {"b": 7}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.send("alice", http.MethodPost, "/ingest/lab/odd", "application/json", string(data)); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	for order, want := range map[string]string{"asc": "1,2,null", "desc": "2,1,null"} {
		got := s.send("alice", http.MethodGet, "/data/alice/lab/odd/rows?order="+order+"&sort="+url.QueryEscape(name), "", "")
		var page struct{ Data []map[string]json.RawMessage }
		if err := json.Unmarshal([]byte(got.body), &page); err != nil || got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
		var values []string
		for _, row := range page.Data {
			values = append(values, string(row[name]))
		}
		if strings.Join(values, ",") != want {
			t.Errorf("%s: %v", order, values)
		}
	}
}

// countingChart makes a chart that says what it is of, where there is more than a row.
func countingChart(_ context.Context, caller domain.Caller, in domain.NamespaceRef, question string, result domain.QueryResult) (map[string]any, map[string]string) {
	if len(result.Rows) < 2 {
		return nil, nil
	}
	return map[string]any{"description": fmt.Sprint(caller.Username, " ", in, " ", question, " ", len(result.Rows))}, map[string]string{"n": "kg"}
}

// TestQueryChart has rows with a chart where the question is given that they answer.
func TestQueryChart(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.send("alice", http.MethodPost, "/ingest/shop/rows", "application/json", `{"data":[{"n":1},{"n":2}]}`)
	for body, want := range map[string]string{
		`"SELECT n FROM rows"`:                             `""`,
		`"SELECT n FROM rows","question":"What is there?"`: `"alice alice/shop What is there? 2"`,
		`"SELECT 1 AS n","question":"What is there?"`:      `""`,
	} {
		got := s.send("alice", http.MethodPost, "/query", "application/json", `{"username":"self","namespace":"shop","query":`+body+`}`)
		var answer struct {
			Chart struct{ Description string }
			Units map[string]string
		}
		if err := json.Unmarshal([]byte(got.body), &answer); err != nil || fmt.Sprintf("%q", answer.Chart.Description) != want || (answer.Units["n"] == "kg") != (want != `""`) {
			t.Errorf("%s: %d %s %v", body, got.status, got.body, err)
		}
	}
	got := s.subErrors(s.send("alice", http.MethodPost, "/query", "application/json", `{"username":"self","namespace":"shop","query":"SELECT 1","question":" "}`))
	if !slices.Equal(got, []string{"question must not be blank"}) {
		t.Errorf("a blank question: %q", got)
	}
}

// TestDownload looks at what the answer with a file says about it.
func TestDownload(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.create("alice", "shop", "empty")
	s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", `{"data":[{"item":"=1+1","n":-1},{"item":"plum"}]}`)
	for _, test := range []struct{ query, file, mediaType, body string }{
		{"", "orders.csv", "text/csv; charset=utf-8", "item,n\n=1+1,-1\nplum,\n"},
		{"?format=csv&escapeFormulas=true", "orders.csv", "text/csv; charset=utf-8", "item,n\n'=1+1,-1\nplum,\n"},
		{"?format=parquet", "orders.parquet", "application/vnd.apache.parquet", "PAR1"},
	} {
		got := s.send("alice", http.MethodGet, "/data/alice/shop/orders/download"+test.query, "", "")
		if got.status != http.StatusOK || !strings.HasPrefix(got.body, test.body) || got.header.Get("Content-Type") != test.mediaType ||
			got.header.Get("Content-Disposition") != "attachment; filename="+test.file || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
			t.Errorf("%s: %d %v %.200q", test.query, got.status, got.header, got.body)
		}
	}
	s.send("alice", http.MethodPost, "/data/alice/shop/orders/clear", "", "")
	for _, name := range []string{"empty", "orders"} {
		if got := s.send("alice", http.MethodGet, "/data/alice/shop/"+name+"/download", "", ""); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "no rows") {
			t.Errorf("%s: %d %s", name, got.status, got.body)
		}
	}
}

// TestQueryLines has all rows of a query, where a page of them would be truncated.
func TestQueryLines(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	s.create("alice", "shop", "empty")
	accept := "application/x-ndjson, application/json"
	query := func(user, sql string) answer {
		body := fmt.Sprintf(`{"username":"alice","namespace":"shop","query":%q}`, sql)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.server.URL+rest.Root+"/query", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer "+s.token(user))
		request.Header.Set("Accept", accept)
		return s.do(request)
	}
	got := query("alice", "SELECT i FROM range(5195) r(i)")
	lines := strings.Split(got.body, "\n")
	if got.status != http.StatusOK || len(lines) != 5196 || lines[5194] != `{"i":5194,"__metadata":{"score":1.0}}` ||
		got.header.Get("Content-Type") != "application/x-ndjson" || got.header.Get("Content-Length") != fmt.Sprint(len(got.body)) {
		t.Errorf("%d %v %d lines", got.status, got.header, len(lines))
	}
	if names := got.header.Values("X-Columns"); names != nil {
		t.Errorf("columns of rows: %q", names)
	}
	if got := query("alice", `SELECT 1 AS a, 2 AS "é😀" WHERE false`); got.status != http.StatusOK || got.body != "" || got.header.Get("X-Columns") != `["a","\u00e9\ud83d\ude00"]` {
		t.Errorf("no rows: %d %q %v", got.status, got.body, got.header)
	}
	if got := query("alice", "SELECT nothing FROM nowhere"); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "nowhere") {
		t.Errorf("wrong: %d %s", got.status, got.body)
	}
	if got := query("bob", "SELECT 1"); got.status != http.StatusNotFound {
		t.Errorf("another's: %d %s", got.status, got.body)
	}
	for value, want := range map[string]string{
		"application/json;q=0.5, Application/X-NDJSON; q=0.8": "application/x-ndjson",
		"application/json, application/x-ndjson;q=0":          "application/json; charset=utf-8",
		"application/x-ndjson-other":                          "application/json; charset=utf-8",
		"*/*":                                                 "application/json; charset=utf-8",
	} {
		accept = value
		if got := query("alice", "SELECT 1"); got.status != http.StatusOK || got.header.Get("Content-Type") != want {
			t.Errorf("%s: %d %v", value, got.status, got.header)
		}
	}
}

// waitingDatasets has results wait as long as they may.
type waitingDatasets struct {
	rest.Datasets
	gate chan struct{}
}

func (l waitingDatasets) DownloadResult(ctx context.Context, _ domain.Caller, _ domain.DataScope, _ string) (*os.File, []domain.Column, error) {
	if _, limited := ctx.Deadline(); !limited {
		return nil, nil, errors.New("a result without a deadline")
	}
	<-l.gate
	return nil, nil, context.DeadlineExceeded
}

// heldResults has each user wait for some results, and returns their end.
func (s *service) heldResults(t *testing.T, count int, users ...string) (wait func()) {
	t.Helper()
	var done sync.WaitGroup
	for _, user := range users {
		token := s.token(user)
		for range count {
			done.Go(func() {
				body := strings.NewReader(`{"username":"alice","namespace":"shop","query":"SELECT 1"}`)
				request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, rest.Root+"/query", body)
				request.Header.Set("Content-Type", "application/json")
				request.Header.Set("Authorization", "Bearer "+token)
				request.Header.Set("Accept", "application/x-ndjson")
				answer := httptest.NewRecorder()
				s.rest.ServeHTTP(answer, request)
				if answer.Code != http.StatusServiceUnavailable {
					t.Errorf("%d %s", answer.Code, answer.Body)
				}
			})
		}
	}
	return done.Wait
}

// A result does not wait for those of other users, whose clients may not read them.
func TestResultBesideHeldOnes(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Datasets = waitingDatasets{cfg.Datasets, gate} })
	held := s.heldResults(t, 6, "bob", "carol", "dave", "eve")
	waittest.Until(t, "all slots are held", func() bool { got := s.rest.ResultStats(); return got.Running == 16 && got.Waiting == 8 })
	other := s.heldResults(t, 1, "alice")
	waittest.Until(t, "another asks", func() bool { got := s.rest.ResultStats(); return got.Running+got.Waiting == 25 })
	if got := s.rest.ResultStats(); got.Running != 17 {
		t.Errorf("it waits: %+v", got)
	}
	close(gate)
	held()
	other()
}

// Results that wait for a query worker, for a limited time, do not keep downloads waiting.
func TestDownloadBesideResults(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	s := newService(t, sqlstoretest.SQLite(t), func(cfg *rest.Config) { cfg.Datasets = waitingDatasets{cfg.Datasets, gate} })
	s.create("alice", "shop", "orders")
	s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", `{"data":[{"item":"plum"}]}`)
	held := s.heldResults(t, 8, "alice")
	waittest.Until(t, "some wait", func() bool { return s.rest.ResultStats().Waiting > 0 })
	if got := s.send("alice", http.MethodGet, "/data/alice/shop/orders/download", "", ""); got.status != http.StatusOK {
		t.Errorf("%d %s", got.status, got.body)
	}
	close(gate)
	held()
}
