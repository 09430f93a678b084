package server

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// sharedAttempt is a query by which one user of a namespace could learn what
// another asks, or disturb it.
type sharedAttempt struct {
	name, sql string
	// want is a part of the rows of a query that is allowed, empty for one that is
	// refused.
	want string
	// endless queries run until they are stopped.
	endless bool
}

// hostile is a column whose name would end a list, begin a comment and read another
// table, were it not quoted everywhere.
const hostile = `x" AS y, match(customer, 'Ada') AS __score FROM orders --`

// sharedAttempts are for the namespace shop. {pid} is a process of the server's.
var sharedAttempts = []sharedAttempt{
	{name: "log queries", sql: "CALL enable_logging('QueryLog')"},
	{name: "read the log", sql: "SELECT * FROM duckdb_logs()"},
	{name: "log to standard output", sql: "SET GLOBAL logging_storage = 'stdout'"},
	{name: "profile", sql: "PRAGMA enable_profiling"},
	{name: "change the time zone", sql: "SET GLOBAL TimeZone = 'Asia/Tokyo'"},
	{name: "change the order", sql: "SET GLOBAL default_order = 'DESC'"},
	{name: "change after a query", sql: "SELECT 1; SET GLOBAL TimeZone = 'Asia/Tokyo'"},
	{name: "a temporary table", sql: "CREATE TEMP TABLE orders AS SELECT 0 AS id"},
	{name: "a temporary view", sql: "CREATE OR REPLACE TEMP VIEW orders AS SELECT 0 AS id"},
	{name: "a macro", sql: "CREATE OR REPLACE TEMP MACRO count(x) AS 0"},
	{name: "fewer rows", sql: "DELETE FROM orders"},
	{name: "the running query", sql: "SELECT current_query()"},
	{name: "another's memory", sql: "SELECT content FROM read_blob('/proc/{pid}/mem')"},
	{name: "another's environment", sql: "SELECT content FROM read_text('/proc/{pid}/environ')"},
	{name: "a descriptor", sql: "COPY (SELECT 1) TO '/proc/self/fd/3' (FORMAT csv)"},
	{name: "a hostile name", sql: `SELECT "` + strings.ReplaceAll(hostile, `"`, `""`) + `" AS words FROM notes WHERE match("` + strings.ReplaceAll(hostile, `"`, `""`) + `", 'fox')`,
		want: `[{"words":"a quick fox","__metadata":{"score":1.0}}]`},
	{name: "a hostile alias", sql: `SELECT text AS "t"", match(text, 'no') FROM notes --" FROM notes WHERE match(text, 'owl')`,
		want: `[{"t\", match(text, 'no') FROM notes --":"an owl","__metadata":{"score":1.0}}]`},
	{name: "much memory", sql: "SELECT len(range(1000000000))"},
	{name: "all memory", sql: "SELECT list(i) FROM range(10000000000) r(i)", endless: true},
	{name: "all time", sql: "SELECT sum(hash(a.i) % hash(b.i)) FROM range(1000000000) a(i), range(1000000000) b(i)", endless: true},
}

// sharedUser is a user of the namespace, with a word that only their queries have.
type sharedUser struct {
	e2etest.Client
	name, word string
}

// probes are queries of the user's, and the rows that they must give.
func (u sharedUser) probes() map[string]string {
	return map[string]string{
		"SELECT '" + u.word + "' AS word, count(*) AS n, max(customer) AS last FROM orders WHERE id < 4": `[{"word":"` + u.word + `","n":3,"last":"Bo","__metadata":{"score":1.0}}]`,
		"SELECT id, '" + u.word + "' AS word FROM orders ORDER BY city, id LIMIT 1":                      `[{"id":1,"word":"` + u.word + `","__metadata":{"score":1.0}}]`,
		"SELECT CAST(TIMESTAMPTZ '2024-01-01 00:00:00+00' AS VARCHAR) AS at":                             `[{"at":"2024-01-01 00:00:00+00","__metadata":{"score":1.0}}]`,
		"SELECT text FROM notes WHERE match(text, 'owl " + u.word + "')":                                 `[{"text":"an owl","__metadata":{"score":0.5}}]`,
	}
}

// querySQL sends a query about alice's shop, and gives the rows as they are sent, or
// all of the answer that is not 200. It may be called from any goroutine.
func querySQL(ctx context.Context, c e2etest.Client, sql string) (status int, text string, err error) {
	body, err := json.Marshal(e2etest.Object{"username": "alice", "namespace": "shop", "query": sql})
	if err != nil {
		return 0, "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/api/v1/query", strings.NewReader(string(body)))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Authorization", "Bearer "+c.Token)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = response.Body.Close() }()
	whole, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return response.StatusCode, string(whole), err
	}
	var answer struct{ Data json.RawMessage }
	err = json.Unmarshal(whole, &answer)
	return response.StatusCode, string(answer.Data), err
}

// TestSharedNamespaceQueries has the owner of a namespace, then a viewer, try to see
// or to disturb what the other asks meanwhile.
func TestSharedNamespaceQueries(t *testing.T) {
	t.Parallel()
	s := e2etest.ServeShop(t, nil)
	alice := sharedUser{s, "the owner", "harpsichord"}
	bob := sharedUser{e2etest.Client{Process: s.Process, Token: s.Process.Token("bob")}, "the viewer", "clavichord"}
	notes := e2etest.Object{"data": []e2etest.Object{{"text": "a fox", hostile: "a quick fox"}, {"text": "an owl", hostile: "nothing"}}}
	if status := alice.Ask("POST", "/ingest/shop/notes", notes, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	if status := alice.Ask("POST", "/permissions/namespaces/self/shop/shares", e2etest.Object{"username": "bob", "role": "viewer"}, nil); status != http.StatusOK {
		t.Fatalf("share: %d", status)
	}
	for _, a := range sharedAttempts {
		tryShared(t, bob, alice, a)
		tryShared(t, alice, bob, a)
	}
	if text := s.Log.String() + s.More.String(); strings.Contains(text, alice.word) || strings.Contains(text, bob.word) {
		t.Errorf("the server logs queries: %s", text)
	}
}

// tryShared sends an attempt and, meanwhile and afterwards, the other's queries.
func tryShared(t *testing.T, attacker, victim sharedUser, a sharedAttempt) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	type answer struct {
		status int
		text   string
		err    error
	}
	answered := make(chan answer, 1)
	for _, pid := range e2etest.Children(t, attacker.Cmd.Process.Pid) {
		a.sql = strings.Replace(a.sql, "{pid}", strconv.Itoa(pid), 1)
	}
	go func() {
		status, text, err := querySQL(ctx, attacker.Client, a.sql)
		answered <- answer{status, text, err}
	}()
	if a.endless {
		e2etest.Eventually(t, func() bool {
			return attacker.Metrics()[`parley_query_pool_queries{state="running"}`] > 0 || len(answered) > 0
		})
	}
	probe := func() {
		t.Helper()
		for sql, want := range victim.probes() {
			if status, got, err := querySQL(t.Context(), victim.Client, sql); err != nil || status != http.StatusOK || got != want {
				t.Errorf("%s, %s: the other's %s gives %d %s, %v; want %s", attacker.name, a.name, sql, status, got, err, want)
			}
		}
	}
	probe()
	if a.endless {
		cancel()
	}
	got := <-answered
	want := http.StatusUnprocessableEntity
	if a.want != "" {
		want = http.StatusOK
	}
	if !a.endless && (got.err != nil || got.status != want) || a.want != "" && got.text != a.want {
		t.Errorf("%s, %s: %d %s, %v", attacker.name, a.name, got.status, got.text, got.err)
	}
	if strings.Contains(got.text, victim.word) {
		t.Errorf("%s, %s: shows %s", attacker.name, a.name, got.text)
	}
	probe()
}
