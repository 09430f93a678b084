package main

import (
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestQueryWorkerKilled kills the processes that run queries, in the middle of
// one. Whoever asked is told to try again, a question is answered all the same,
// and the next query has another process.
func TestQueryWorkerKilled(t *testing.T) {
	t.Parallel()
	c := shop(t)
	s, ended, _ := c.heldQuestion()
	asked := make(chan int, 1)
	go func() {
		asked <- c.ask("POST", "/query", object{"username": "self", "namespace": "shop", "query": "SELECT count(*) AS n FROM orders"}, nil)
	}()
	for _, pid := range children(t, c.cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if !<-ended || s.shape() != wholeStream {
		t.Errorf("the question: %s", s.shape())
	}
	if status := <-asked; status != http.StatusOK && status != http.StatusServiceUnavailable {
		t.Errorf("a query: %d", status)
	}
	if got := c.count("shop/orders"); got != 3 {
		t.Errorf("%d orders", got)
	}
}

// TestMakerKilled kills the process that makes a dataset's files. The ingestion
// fails and says so, the dataset is as it was, and the same file comes in when it
// is asked for again.
func TestMakerKilled(t *testing.T) {
	t.Parallel()
	c := shop(t)
	text := noise(400_000)
	file := c.upload("orders.csv", int64(len(text)), strings.NewReader(text))
	c.ask("POST", "/ingest/new/shop/large", nil, nil)
	c.ingest("shop/large", file)
	eventually(t, func() bool {
		for _, pid := range children(t, c.cmd.Process.Pid) {
			if isMaker(pid) {
				return syscall.Kill(pid, syscall.SIGKILL) == nil
			}
		}
		return false
	})
	if got := c.settled("shop/large"); got[0].Status != "failed" || !strings.Contains(got[0].StatusMessage, "try again") {
		t.Errorf("the ingestion: %+v", got)
	}
	c.ingest("shop/large", file)
	if got := c.settled("shop/large"); got[0].Status != "completed" || c.count("shop/large") != 400_000 {
		t.Errorf("the same file again: %+v, %d rows", got, c.count("shop/large"))
	}
}

// isMaker reports whether a process is one that makes files.
func isMaker(pid int) bool {
	line, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	return err == nil && strings.Contains(string(line), "\x00worker\x00make\x00")
}
