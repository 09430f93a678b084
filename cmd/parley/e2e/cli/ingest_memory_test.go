package cli

import (
	"net/http"
	"sync/atomic"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// TestIngestMemory ingests a large file and looks at what client and server took
// for it.
func TestIngestMemory(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	if e2etest.RaceDetector {
		t.Skip("the race detector takes memory of its own")
	}
	const (
		limit = 200 << 20
		rows  = 128 << 20 / len(bigLine)
	)
	i := newIngester(t)
	i.server.PeakMemory() // or the test ends here
	i.write("big.csv", bigCSV(rows))
	cmd := e2etest.Command(t, i.dir, i.env, ingestBig...)
	var client atomic.Int64
	i.gate.watch(func(r *http.Request) {
		if part(r) == 0 { // it waits for an answer, and so is there
			client.Store(e2etest.PeakMemory(t, cmd.Process.Pid))
		}
	})
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	server := e2etest.PeakMemory(t, i.server.Cmd.Process.Pid)
	t.Logf("%d MiB ingested: the client's peak was %d MiB, the server's %d MiB", rows*len(bigLine)>>20, client.Load()>>20, server>>20)
	if client.Load() > limit || server > limit {
		t.Errorf("one of them took more than %d MiB", limit>>20)
	}
}
