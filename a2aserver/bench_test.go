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
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/nodetest"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
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

// contender is a server of the trivial agent, and what says how long it has been
// at work.
type contender struct {
	name, url string
	cpu       func() time.Duration
}

func contenders(b *testing.B) []contender {
	b.Helper()
	sdk := httptest.NewServer(a2asrv.NewJSONRPCHandler(a2asrv.NewHandler(trivial{})))
	b.Cleanup(sdk.Close)
	all := []contender{{"sdk", sdk.URL, benchtest.CPU}}
	for name, open := range map[string]func(testing.TB) *sqlstore.Store{"sqlite": sqlstoretest.SQLite, "postgres": sqlstoretest.Postgres} {
		store := open(b)
		withNamespace(b, store)
		all = append(all, contender{name, serveHost(b, newHost(b, store, trivial{})).URL, benchtest.CPU})
	}
	if express, ok := startExpress(b); ok {
		all = append(all, express)
	}
	return all
}

// startExpress starts the server of testdata/express, where there is Node.js.
func startExpress(b *testing.B) (contender, bool) {
	b.Helper()
	packages, err := nodetest.Packages(b, "testdata/express")
	if err != nil {
		b.Logf("without Express: %v", err)
		return contender{}, false
	}
	cmd := exec.CommandContext(b.Context(), "node", nodetest.Script(b, packages, "testdata/express/server.mjs"))
	cmd.Env = append(os.Environ(), "NODE_ENV=production")
	port, err := startBeside(b, cmd).ReadString('\n')
	if err != nil {
		b.Fatalf("no port of Express: %v", err)
	}
	cpu := func() time.Duration { return benchtest.CPUOf(cmd.Process.Pid) }
	return contender{"express", "http://127.0.0.1:" + strings.TrimSpace(port), cpu}, true
}

// BenchmarkAgainstSDK compares this host, with everything in a database, with
// the SDK's handler and an Express server on @a2a-js/sdk, both in memory; the
// clients are in a process of their own. All take turns in the same run; the
// figures are medians of the rounds, of which the first only warms up, and
// ratios to the SDK's handler. The work of PostgreSQL itself is in no figure.
func BenchmarkAgainstSDK(b *testing.B) {
	for _, method := range []string{"SendStreamingMessage", "SendMessage"} {
		b.Run("method="+method, func(b *testing.B) {
			sizes := []int{benchClients}
			if method == "SendStreamingMessage" {
				sizes = benchtest.Sizes(benchClients, benchtest.Clients...)
			}
			benchtest.Each(b, "clients", sizes, func(b *testing.B, clients int) {
				all, loads := contenders(b), map[string][]load{}
				rounds := 0
				for b.Loop() {
					for _, c := range all {
						runtime.GC()
						loads[c.name] = append(loads[c.name], drive(b, c, method, clients))
					}
					rounds++
				}
				if rounds > 1 {
					for name := range loads {
						loads[name] = loads[name][1:]
					}
				}
				report(b, loads)
			})
		})
	}
}

// load is what came of some requests.
type load struct {
	perSecond float64
	// cpu is what the server took for each.
	cpu time.Duration
	// first is how long each waited for the first byte.
	first []time.Duration
}

const (
	benchClients = 32
	benchTarget  = "PARLEY_BENCH_TARGET"
)

// drive has clients in another process send requests: fewer where there are few,
// who wait for the disk each time.
func drive(b *testing.B, c contender, method string, clients int) load {
	b.Helper()
	requests := min(1500, 300+50*clients)
	if testing.Short() {
		requests = 2 * clients
	}
	cmd := exec.CommandContext(b.Context(), os.Args[0], "-test.run=^TestBenchClients$")
	cmd.Env = append(os.Environ(), benchTarget+"="+c.url, "METHOD="+method, fmt.Sprint("REQUESTS=", requests), fmt.Sprint("CLIENTS=", clients))
	cmd.Stderr = os.Stderr
	used := c.cpu()
	out, err := cmd.Output()
	used = c.cpu() - used
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
	return load{perSecond: float64(requests) / told.Took.Seconds(), cpu: used / time.Duration(requests), first: told.First}
}

// TestBenchClients is the clients of a benchmark, run by drive.
func TestBenchClients(t *testing.T) {
	url := os.Getenv(benchTarget)
	if url == "" {
		t.Skip("this is a part of a benchmark")
	}
	path, body := inBinding(os.Getenv("METHOD"))
	requests, _ := strconv.Atoi(os.Getenv("REQUESTS"))
	count, _ := strconv.Atoi(os.Getenv("CLIENTS"))
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: count}}
	var left atomic.Int64
	left.Store(int64(requests))
	first := make([][]time.Duration, count)
	var clients sync.WaitGroup
	began := time.Now()
	for i := range count {
		clients.Go(func() {
			for left.Add(-1) >= 0 {
				took, err := sendOne(client, url+path, body.next())
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

// requestBodies makes requests, each with a message of its own.
type requestBodies struct{ before, after string }

func newRequests(method string) requestBodies {
	request := toShop("What is the answer?")
	before, after, _ := strings.Cut(rpcText(method, request), request.Message.ID)
	return requestBodies{before, after}
}

func (b requestBodies) next() string { return b.before + domain.NewID() + b.after }

// sendOne sends one request and reads the answer to its end. It gives the time
// until the first line of the answer.
func sendOne(client *http.Client, url, body string) (time.Duration, error) {
	began := time.Now()
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("A2A-Version", "1.0")
	request.Header.Set("X-User", "alice")
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	line, err := lines.ReadString('\n')
	first := time.Since(began)
	if err != nil && (err != io.EOF || line == "") { // not every answer ends its line
		return 0, err
	}
	rest, err := io.ReadAll(lines)
	if err == nil && !strings.Contains(line+string(rest), "TASK_STATE_COMPLETED") && !strings.Contains(line+string(rest), `"state":"completed"`) {
		err = fmt.Errorf("an answer without an end: %s%s", line, rest)
	}
	return first, err
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
	cpu := func(l load) float64 { return benchtest.Micros(l.cpu) }
	first := func(l load) float64 { return benchtest.Micros(benchtest.Percentile(l.first, 50)) }
	for name := range loads {
		b.ReportMetric(median(name, rate), name+"-runs/s")
		b.ReportMetric(median(name, cpu), name+"-cpu-µs")
		b.ReportMetric(median(name, first), name+"-first-µs")
	}
	for _, name := range []string{"sqlite", "postgres"} {
		b.ReportMetric(median(name, rate)/median("sdk", rate), name+"/sdk-rate")
		b.ReportMetric(median(name, cpu)/median("sdk", cpu), name+"/sdk-cpu")
		b.ReportMetric(median(name, first)/median("sdk", first), name+"/sdk-first")
	}
	b.ReportMetric(0, "ns/op")
}

// startBeside starts a process that ends with its standard input, which is closed
// with the benchmark, and gives what it says.
func startBeside(b *testing.B, cmd *exec.Cmd) *bufio.Reader {
	b.Helper()
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	return bufio.NewReader(stdout)
}
