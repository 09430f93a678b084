package replicas

import (
	"net/http"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestMCPOnTwoReplicas asks one server with a tool, which dies in the middle, and reads the
// answer from another.
func TestMCPOnTwoReplicas(t *testing.T) {
	t.Parallel()
	r := e2etest.StartFleet(t, 2)
	at := func(i int) e2etest.Client { return e2etest.Client{Process: r.Now[i].Load(), Token: r.Token} }
	at(0).NewWorkshop()
	if status := at(0).Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"id": 1}, {"id": 2}, {"id": 3}}}, nil); status != http.StatusOK {
		t.Fatalf("ingest: %d", status)
	}
	first, second := at(0).MCP("", nil), at(1).MCP("2025-06-18", nil)

	asked := first.Use("ask", e2etest.Object{"question": e2etest.WhichDate, "namespace": "workshop"})
	answered := second.Use("ask", e2etest.Object{"run_id": asked.RunID, "question": "done in 2025"})
	read := first.Use("get_answer", e2etest.Object{"run_id": asked.RunID})
	if asked.Status != "needs_input" || answered.Status != "completed" || read.All != answered.All || !strings.Contains(read.All, `"rows":[[3]]`) {
		t.Errorf("asked %s\nanswered %s\nread %s", asked.All, answered.All, read.All)
	}

	letGo := at(0).Hold()
	run := first.Use("ask", e2etest.Object{"question": "How many orders are there?", "namespace": "shop", "wait_seconds": 0})
	if seen := second.Use("get_answer", e2etest.Object{"run_id": run.RunID, "wait_seconds": 0}); run.Status != "working" || seen.All != run.All {
		t.Errorf("asked %s\nseen %s", run.All, seen.All)
	}
	r.Now[0].Load().Signal(syscall.SIGKILL)
	r.Now[0].Load().Wait()
	letGo()
	done := second.Use("get_answer", e2etest.Object{"run_id": run.RunID, "wait_seconds": 50})
	if done.Status != "completed" || !strings.Contains(done.All, `"rows":[[3]]`) {
		t.Errorf("after the death of its server: %s", done.All)
	}
}
