package a2aserver

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/storage/sqlstore"
	"parley/storage/sqlstore/sqlstoretest"
)

// trivial is an agent of four events that the SDK's own handler takes too.
type trivial struct{}

func (trivial) Execute(_ context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		_ = yield(a2a.NewSubmittedTask(request, request.Message), nil) &&
			yield(working(request), nil) &&
			yield(artifact(request, "answer", a2a.NewTextPart("forty-two")), nil) &&
			yield(completed(request), nil)
	}
}

func (trivial) Cancel(_ context.Context, request *a2asrv.ExecutorContext) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateCanceled, nil), nil)
	}
}

// contender is a server of the trivial agent.
type contender struct {
	name   string
	server *httptest.Server
}

func contenders(b *testing.B) []contender {
	b.Helper()
	sdk := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(trivial{})))
	b.Cleanup(sdk.Close)
	all := []contender{{"sdk", sdk}}
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
		store := open(b)
		withNamespace(b, store)
		all = append(all, contender{name, serveHost(b, newHost(b, store, trivial{}))})
	}
	return all
}

// BenchmarkAgainstSDK compares this host, with everything in a database, with
// the SDK's handler in memory: 32 clients, in a process of their own. All take
// turns in the same run; the figures are medians of the rounds, and ratios.
func BenchmarkAgainstSDK(b *testing.B) {
	for _, method := range []string{"SendStreamingMessage", "SendMessage"} {
		b.Run(method, func(b *testing.B) {
			all, loads := contenders(b), map[string][]load{}
			rounds := 0
			for b.Loop() {
				for _, c := range all {
					runtime.GC()
					loads[c.name] = append(loads[c.name], drive(b, c.server.URL, method))
				}
				rounds++
			}
			if rounds > 1 { // the first warms up
				for name := range loads {
					loads[name] = loads[name][1:]
				}
			}
			report(b, loads)
		})
	}
}

// load is what came of some requests.
type load struct {
	perSecond float64
	// cpu is what the server took for each.
	cpu time.Duration
	// first is how long each waited for the first byte, in order.
	first []time.Duration
}

// The clients, and how many requests they send in a round.
const (
	benchClients  = 32
	benchRequests = 1500
	benchTarget   = "PARLEY_BENCH_TARGET"
)

// drive has clients in another process send requests.
func drive(b *testing.B, url, method string) load {
	b.Helper()
	requests := benchRequests
	if testing.Short() {
		requests = 2 * benchClients
	}
	clients := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestBenchClients$")
	clients.Env = append(os.Environ(), benchTarget+"="+url, "METHOD="+method, "REQUESTS="+strconv.Itoa(requests))
	clients.Stderr = os.Stderr
	used := cpuTime()
	out, err := clients.Output()
	used = cpuTime() - used
	var told struct {
		Took  time.Duration
		First []time.Duration
	}
	line, _, _ := strings.Cut(string(out), "\n")
	if err == nil {
		err = json.Unmarshal([]byte(line), &told)
	}
	if err != nil {
		b.Fatalf("clients: %v\n%s", err, out)
	}
	slices.Sort(told.First)
	return load{perSecond: float64(requests) / told.Took.Seconds(), cpu: used / time.Duration(requests), first: told.First}
}

// TestBenchClients is the clients of a benchmark, run by drive.
func TestBenchClients(t *testing.T) {
	url := os.Getenv(benchTarget)
	if url == "" {
		t.Skip("this is a part of a benchmark")
	}
	body := rpcText(os.Getenv("METHOD"), toShop("What is the answer?"))
	requests, _ := strconv.Atoi(os.Getenv("REQUESTS"))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}
	var left atomic.Int64
	left.Store(int64(requests))
	first := make([][]time.Duration, benchClients)
	var clients sync.WaitGroup
	began := time.Now()
	for i := range benchClients {
		clients.Go(func() {
			for left.Add(-1) >= 0 {
				took, err := sendOne(client, url+"/echo", body)
				if err != nil {
					t.Error(err)
					return
				}
				first[i] = append(first[i], took)
			}
		})
	}
	clients.Wait()
	told, err := json.Marshal(map[string]any{"Took": time.Since(began), "First": slices.Concat(first...)})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(string(told))
}

// sendOne sends one request and reads the answer to its end. It gives the time
// until the first line of the answer.
func sendOne(client *http.Client, url, body string) (time.Duration, error) {
	began := time.Now()
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("X-User", "alice")
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	line, err := lines.ReadString('\n')
	first := time.Since(began)
	if err != nil {
		return 0, err
	}
	rest, err := io.ReadAll(lines)
	if err == nil && !strings.Contains(line+string(rest), "TASK_STATE_COMPLETED") {
		err = fmt.Errorf("an answer without an end: %s%s", line, rest)
	}
	return first, err
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func report(b *testing.B, loads map[string][]load) {
	median := func(name string, of func(load) float64) float64 {
		var values []float64
		for _, l := range loads[name] {
			values = append(values, of(l))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	rate := func(l load) float64 { return l.perSecond }
	cpu := func(l load) float64 { return float64(l.cpu.Microseconds()) }
	waited := func(share float64) func(load) float64 {
		return func(l load) float64 { return float64(l.first[int(share*float64(len(l.first)-1))].Microseconds()) }
	}
	for _, name := range []string{"sdk", "sqlite", "postgres"} {
		b.Logf("%-8s %6.0f/s, %5.0f µs of CPU, first byte after %6.0f µs (p50), %6.0f µs (p99)", name,
			median(name, rate), median(name, cpu), median(name, waited(0.5)), median(name, waited(0.99)))
	}
	for _, name := range []string{"sqlite", "postgres"} {
		b.ReportMetric(median(name, rate)/median("sdk", rate), name+"-rate")
		b.ReportMetric(median(name, cpu)/median("sdk", cpu), name+"-cpu")
		b.ReportMetric(median(name, waited(0.5))/median("sdk", waited(0.5)), name+"-p50")
	}
	b.ReportMetric(0, "ns/op")
}
