package server

import (
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/e2etest"
)

// BenchmarkIdleServe says what memory a server takes that has started and is
// asked nothing.
func BenchmarkIdleServe(b *testing.B) {
	for b.Loop() {
		p := e2etest.Serve(b, b.TempDir(), nil)
		time.Sleep(time.Second) // until what the start has left is done
		pid := p.Cmd.Process.Pid
		b.ReportMetric(float64(benchtest.Memory(pid, "VmRSS"))/(1<<20), "MiB")
		b.ReportMetric(float64(benchtest.Memory(pid, "VmHWM"))/(1<<20), "MiB-peak")
		b.ReportMetric(float64(len(e2etest.Children(b, pid))), "workers")
	}
	b.ReportMetric(0, "ns/op")
}
