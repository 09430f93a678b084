package replicas

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// watched is a query on a board as its user sees it.
type watched struct {
	Queries []struct {
		ID    string
		Watch struct{ AskedAt, Change, ConversationID, Problem string }
	}
}

// TestWatches has two servers on one database ask watched queries again, while rows come in and the
// servers are killed just then. Each change is told once, in a conversation and to a webhook, and only
// to who may read the data.
func TestWatches(t *testing.T) {
	t.Parallel()
	r := e2etest.StartFleet(t, 2, "--push-insecure", "--log-level", "error")
	told := map[string]string{} // what a run says has changed
	var mu sync.Mutex
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, request *http.Request) {
		body, err := io.ReadAll(request.Body)
		var event struct {
			ArtifactUpdate struct {
				TaskID   string
				Artifact struct {
					Name  string
					Parts []struct{ Text string }
				}
			}
		}
		if err == nil && json.Unmarshal(body, &event) == nil && event.ArtifactUpdate.Artifact.Name == "result-data" {
			mu.Lock()
			defer mu.Unlock()
			told[event.ArtifactUpdate.TaskID] = event.ArtifactUpdate.Artifact.Parts[0].Text
		}
	}))
	t.Cleanup(hook.Close)
	as := func(user string) e2etest.Client {
		p := r.Any()
		return e2etest.Client{Process: p, Token: p.Token(user)}
	}
	board := func(user string) (found watched) {
		as(user).Ask("GET", "/boards/alice/shop", nil, &found)
		return found
	}
	do := func(user, method, path string, body e2etest.Object, want int) {
		t.Helper()
		if got := as(user).Ask(method, path, body, nil); got != want {
			t.Fatalf("%s %s %s: %d, want %d", user, method, path, got, want)
		}
	}
	add := func() {
		do("alice", "POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"city": "Oslo"}}}, http.StatusOK)
	}
	add()
	var pin struct{ ID string }
	as("alice").Ask("POST", "/boards/alice/shop", e2etest.Object{"question": "How many orders?", "query": "SELECT count(*) AS number_of_orders FROM orders"}, &pin)
	watch := "/boards/alice/shop/" + pin.ID + "/watch"
	do("bob", "PUT", watch, e2etest.Object{}, http.StatusNotFound)
	share := e2etest.Object{"username": "bob", "role": "viewer"}
	do("alice", "POST", "/permissions/namespaces/alice/shop/shares", share, http.StatusOK)
	do("bob", "PUT", watch, e2etest.Object{}, http.StatusNoContent)
	do("alice", "PUT", watch, e2etest.Object{"webhook": hook.URL, "token": "a token"}, http.StatusNoContent)
	for _, user := range []string{"alice", "bob"} {
		e2etest.Eventually(t, func() bool { return board(user).Queries[0].Watch.AskedAt != "" })
	}
	const rounds = 3
	for n := range rounds {
		add()
		p := r.Now[n%2].Load()
		p.Signal(syscall.SIGKILL)
		p.Wait()
		r.Start(n % 2)
		want := fmt.Sprintf("from %d to %d.", n+1, n+2)
		for _, user := range []string{"alice", "bob"} {
			e2etest.Eventually(t, func() bool { return strings.HasSuffix(board(user).Queries[0].Watch.Change, want) })
		}
	}
	turns := func(user string) []string {
		var conversation struct {
			Turns []struct {
				Status string
				Result struct{ Response string }
			}
		}
		as(user).Ask("GET", "/query/conversations/"+board(user).Queries[0].Watch.ConversationID, nil, &conversation)
		var said []string
		for _, turn := range conversation.Turns {
			said = append(said, turn.Status+": "+turn.Result.Response)
		}
		return said
	}
	for _, user := range []string{"alice", "bob"} {
		e2etest.Eventually(t, func() bool { return strings.Count(strings.Join(turns(user), " "), "completed: ") >= rounds })
		if got := turns(user); len(got) != rounds {
			t.Errorf("%s was told %q", user, got)
		}
	}
	e2etest.Eventually(t, func() bool { mu.Lock(); defer mu.Unlock(); return len(told) == rounds })

	// A user who may not read the data any more is told nothing, and why.
	do("alice", "DELETE", "/permissions/namespaces/alice/shop/shares", share, http.StatusOK)
	add()
	e2etest.Eventually(t, func() bool { return strings.HasSuffix(board("alice").Queries[0].Watch.Change, "to 5.") })
	db, err := sqlx.Open("postgres", r.Cluster.URL())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	e2etest.Eventually(t, func() bool {
		var problem string
		if err := db.Get(&problem, `SELECT problem FROM watches WHERE username = 'bob'`); err != nil {
			t.Fatal(err)
		}
		return problem != ""
	})
	do("bob", "GET", "/boards/alice/shop", nil, http.StatusNotFound)
	do("alice", "POST", "/permissions/namespaces/alice/shop/shares", share, http.StatusOK)
	if got := board("bob").Queries[0].Watch; got.Problem == "" || !strings.HasSuffix(got.Change, "to 4.") {
		t.Errorf("bob was told %+v", got)
	}
	do("alice", "DELETE", "/data/alice/shop/orders", nil, http.StatusNoContent)
	e2etest.Eventually(t, func() bool { return board("alice").Queries[0].Watch.Problem != "" })
	mu.Lock()
	defer mu.Unlock()
	if len(told) != rounds+1 {
		t.Errorf("the webhook was told %q", told)
	}
}
