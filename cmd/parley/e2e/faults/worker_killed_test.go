package faults

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestQueryWorkerKilled kills the processes that run queries, in the middle of
// one. Whoever asked is told to try again, a question is answered all the same,
// and the next query has another process.
func TestQueryWorkerKilled(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	s, ended, _ := c.HeldQuestion()
	asked := make(chan int, 1)
	go func() {
		asked <- c.Ask("POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT count(*) AS n FROM orders"}, nil)
	}()
	for _, pid := range e2etest.Children(t, c.Cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if !<-ended || s.Shape() != e2etest.WholeStream {
		t.Errorf("the question: %s", s.Shape())
	}
	if status := <-asked; status != http.StatusOK && status != http.StatusServiceUnavailable {
		t.Errorf("a query: %d", status)
	}
	if got := c.Count("shop/orders"); got != 3 {
		t.Errorf("%d orders", got)
	}
}

// TestIngestWorkerKilled kills the process that makes a dataset's files. The ingestion
// fails and says so, the dataset is as it was, and the same file comes in when it
// is asked for again.
func TestIngestWorkerKilled(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	text := noise(400_000)
	file := c.Upload("orders.csv", int64(len(text)), strings.NewReader(text))
	c.Ask("POST", "/ingest/new/shop/large", nil, nil)
	c.Ingest("shop/large", file)
	e2etest.Eventually(t, func() bool {
		for _, pid := range e2etest.Children(t, c.Cmd.Process.Pid) {
			if isIngestWorker(pid) {
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		return false
	})
	if got := c.Settled("shop/large"); got[0].Status != "failed" || !strings.Contains(got[0].StatusMessage, "try again") {
		t.Errorf("the ingestion: %+v", got)
	}
	c.Ingest("shop/large", file)
	if got := c.Settled("shop/large"); got[0].Status != "completed" || c.Count("shop/large") != 400_000 {
		t.Errorf("the same file again: %+v, %d rows", got, c.Count("shop/large"))
	}
}

// isIngestWorker reports whether a process is an ingest worker.
func isIngestWorker(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && strings.Contains(string(line), "\x00worker\x00ingest\x00")
}
