package a2aserver

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
)

// BenchmarkBindings compares streams of four events in the bindings over HTTP, which take
// turns in the same run; "SendStreamingMessage" is JSON-RPC's. The figures are medians of the
// rounds, of which the first only warms up, and ratios to JSON-RPC.
func BenchmarkBindings(b *testing.B) {
	store := sqlstoretest.SQLite(b)
	withNamespace(b, store)
	server := contender{"sqlite", serveHost(b, newHost(b, store, trivial{})).URL, benchtest.CPU}
	methods := []string{"SendStreamingMessage", "message:stream", "message/stream"}
	loads := map[string][]load{}
	for b.Loop() {
		for _, method := range methods {
			runtime.GC()
			loads[method] = append(loads[method], drive(b, server, method, benchClients))
		}
	}
	median := func(method string, of func(load) float64) float64 {
		var values []float64
		for _, l := range loads[method][min(1, len(loads[method])-1):] {
			values = append(values, of(l))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	rate := func(l load) float64 { return l.perSecond }
	cpu := func(l load) float64 { return benchtest.Micros(l.cpu) }
	for name, method := range map[string]string{"jsonrpc": methods[0], "http": methods[1], "0.3": methods[2]} {
		b.ReportMetric(median(method, rate), name+"-runs/s")
		b.ReportMetric(median(method, cpu), name+"-cpu-µs")
		b.ReportMetric(median(method, rate)/median(methods[0], rate), name+"/jsonrpc-rate")
	}
	b.ReportMetric(0, "ns/op")
}

// inBinding returns the path and the bodies of requests to ask by a method: one of HTTP+JSON
// has a colon in its name, one of 0.3 a slash.
func inBinding(method string) (path string, bodies requestBodies) {
	bodies = newRequests(method)
	switch {
	case strings.Contains(method, ":"):
		request := toShop("What is the answer?")
		text, err := json.Marshal(request)
		if err != nil {
			panic(err)
		}
		bodies.before, bodies.after, _ = strings.Cut(string(text), request.Message.ID)
		return "/echo/" + method, bodies
	case strings.Contains(method, "/"):
		legacy := strings.NewReplacer(`"ROLE_USER"`, `"user"`, `{"text":`, `{"kind":"text","text":`)
		bodies.before, bodies.after = legacy.Replace(bodies.before), legacy.Replace(bodies.after)
	}
	return "/echo", bodies
}
