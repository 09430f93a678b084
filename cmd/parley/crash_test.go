package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"parley/internal/golden"
)

// crashes is how often, and how, a server goes down under how many streams.
type crashes struct {
	signal           syscall.Signal
	downs            int
	streams, clients int
	// args make the server go down in the middle of things.
	args []string
}

// TestCrash has clients stream answers from a server that goes down again and
// again. Whoever was cut off comes back with the last event's id. In the end
// everybody has the whole of their streams, nothing twice, and no run is left.
func TestCrash(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ sqlite, postgres crashes }{
		"killed": {
			sqlite: crashes{signal: syscall.SIGKILL, downs: 8, streams: 500, clients: 50},
			// A dead process is only known by its silence, which takes its time.
			postgres: crashes{signal: syscall.SIGKILL, downs: 2, streams: 150, clients: 32},
		},
		"stopped": {
			sqlite:   crashes{signal: syscall.SIGTERM, downs: 4, streams: 150, clients: 32, args: []string{"--drain-timeout", "50ms"}},
			postgres: crashes{signal: syscall.SIGTERM, downs: 4, streams: 150, clients: 32, args: []string{"--drain-timeout", "50ms"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachDatabase(t, func(t *testing.T, env []string) {
				if env == nil {
					testCrash(t, env, test.sqlite)
				} else {
					testCrash(t, env, test.postgres)
				}
			})
		})
	}
}

func testCrash(t *testing.T, env []string, how crashes) {
	if raceDetector {
		how.streams, how.downs, how.clients = how.streams/8, max(how.downs/4, 1), how.clients/2
	}
	dir := t.TempDir()
	args := append([]string{"--log-level", "warn"}, how.args...)
	p := serve(t, dir, env, args...)
	c := client{p, p.token("alice")}
	c.ask("POST", "/ingest/new/shop/orders", nil, nil)
	text := csv(2_000)
	c.ingest("shop/orders", c.upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	if got := c.settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	var now atomic.Pointer[process]
	now.Store(p)
	service := &fallible{t: t, token: c.token, where: now.Load, due: make(chan struct{}, 1)}
	// What each question gives when nothing is in the way.
	want := map[probe]string{}
	for _, q := range questions {
		s := &stream{probe: q}
		if !service.read(s) || s.cuts != 0 {
			t.Fatalf("%+v: %+v", q, s)
		}
		want[q] = s.scrubbed()
		if got := s.shape(); got != q.shape || strings.Contains(want[q], "no query") {
			t.Fatalf("%s gave %s\n%s", q.text, got, want[q])
		}
	}

	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	load := startLoad(service, how.streams, how.clients)
	for down := range how.downs {
		load.await(down, service)
		load.allow(how.streams * (down + 1) / how.downs)
		if !service.awaitEvents(1 + random.Int64N(int64(2*how.streams/how.downs))) {
			break
		}
		load.downs.Add(1)
		p.signal(how.signal)
		if code := p.wait(); how.signal == syscall.SIGTERM && code != exitOK {
			t.Errorf("exit code %d", code)
		}
		p = serve(t, dir, env, args...)
		now.Store(p)
	}
	load.allow(how.streams)
	load.clients.Wait()
	if t.Failed() {
		return
	}
	c.process = p
	cut, cuts := 0, 0
	for _, s := range load.streams {
		if got := s.scrubbed(); got != want[s.probe] {
			t.Errorf("task %s, cut off %d times:\n%s\nwant\n%s", s.taskID, s.cuts, got, want[s.probe])
		}
		service.check(c, s)
		cuts += s.cuts
		if s.cuts > 0 {
			cut++
		}
	}
	t.Logf("%d of %d streams were cut off in the middle, %d times in all", cut, len(load.streams), cuts)
	if cut < how.downs {
		t.Errorf("only %d of %d streams were cut off", cut, len(load.streams))
	}
	c.checkAllEnded(len(load.streams) + len(questions))
}

// probe is a question for an agent, and the events that it is to give.
type probe struct{ agent, text, shape string }

var questions = []probe{
	{"nl2ql", "What is the largest id of orders?", "WORKING generated-query result-data COMPLETED"},
	{
		"assistant", "How many orders are there? What is the smallest id of orders? What is the largest id of orders?",
		"task WORKING WORKING WORKING step-0 WORKING step-1 WORKING step-2 answer COMPLETED",
	},
}

// stream is what a client has got of the answer to a question.
type stream struct {
	probe
	taskID string
	events []string // as they came, the one numbered 1 first
	done   bool
	// born counts the times that the server was down before it began.
	born int
	// cuts counts how often it broke off after its first event.
	cuts int
}

func (s *stream) scrubbed() string { return string(golden.Scrub([]byte(strings.Join(s.events, "\n")))) }

// streamed is the event in one line of data.
type streamed struct {
	Result struct {
		Task         object
		StatusUpdate *struct {
			TaskID string
			Status struct {
				State   string
				Message object
			}
		}
		ArtifactUpdate *struct {
			Artifact struct{ Name string }
		}
	}
	Error json.RawMessage
}

// name says in a word what an event is.
func (e streamed) name() string {
	switch {
	case e.Result.Task != nil:
		return "task"
	case e.Result.ArtifactUpdate != nil:
		return e.Result.ArtifactUpdate.Artifact.Name
	case e.Result.StatusUpdate != nil:
		return strings.TrimPrefix(e.Result.StatusUpdate.Status.State, "TASK_STATE_")
	}
	return "?"
}

func parse(data string) (e streamed, err error) {
	return e, json.Unmarshal([]byte(data), &e)
}

// shape names the events of a stream.
func (s *stream) shape() string {
	var names []string
	for _, data := range s.events {
		e, _ := parse(data)
		names = append(names, e.name())
	}
	return strings.Join(names, " ")
}

// add takes the next event.
func (s *stream) add(id, data string) error {
	e, err := parse(data)
	switch {
	case strings.Contains(string(e.Error), "cannot be reached now; try again"):
		return fmt.Errorf("%w: %s", errAway, data)
	case err != nil || e.Error != nil:
		return fmt.Errorf("after event %d: %s", len(s.events), data)
	case id != strconv.Itoa(len(s.events)+1):
		return fmt.Errorf("event %s after event %d", id, len(s.events))
	case s.done:
		return fmt.Errorf("an event after the last: %s", data)
	}
	s.events = append(s.events, data)
	if task := e.Result.Task; task != nil {
		s.taskID, _ = task["id"].(string)
	}
	if update := e.Result.StatusUpdate; update != nil {
		s.taskID = update.TaskID
		s.done = slices.Contains([]string{"COMPLETED", "FAILED", "CANCELED", "REJECTED"}, e.name())
	}
	return nil
}

// fallible is a server that is not always there, nor always in the same place.
type fallible struct {
	t     testing.TB
	token string
	where func() *process
	// fuse counts the events until due is told.
	fuse atomic.Int64
	due  chan struct{}
}

// awaitEvents returns when so many events more have come, in the middle of
// whatever goes on then. It says whether they did.
func (f *fallible) awaitEvents(count int64) bool {
	f.fuse.Store(count)
	select {
	case <-f.due:
		return true
	case <-time.After(time.Minute):
		f.t.Error("nothing happens")
		return false
	}
}

// errAway says that the server went away, or has not come back.
var errAway = errors.New("the server is away")

// post sends a JSON-RPC request to an agent.
func (f *fallible) post(agent, method string, params any, header ...string) (*http.Response, error) {
	text, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(f.t.Context(), http.MethodPost, f.where().url+"/api/v1/a2a/"+agent, strings.NewReader(string(text)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+f.token)
	request.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errAway, err)
	}
	return response, nil
}

func said(text string) object {
	return object{"message": object{
		"messageId": "m", "role": "ROLE_USER", "parts": []object{{"text": text}}, "metadata": object{"namespace": "shop"},
	}}
}

// open begins a stream, or goes on with it.
func (f *fallible) open(s *stream) (*http.Response, error) {
	if s.taskID == "" {
		return f.post(s.agent, "SendStreamingMessage", said(s.text))
	}
	return f.post(s.agent, "SubscribeToTask", object{"id": s.taskID}, "Last-Event-ID", strconv.Itoa(len(s.events)))
}

// follow reads a stream until its end or that of the connection.
func (f *fallible) follow(s *stream, response *http.Response) error {
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	if response.Header.Get("Content-Type") != "text/event-stream" {
		text, err := lines.ReadString('\n')
		if err != nil || response.StatusCode == http.StatusServiceUnavailable {
			return fmt.Errorf("%w: %d", errAway, response.StatusCode)
		}
		return fmt.Errorf("no stream after event %d: %d %s", len(s.events), response.StatusCode, text)
	}
	id, data := "", ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%w: %w", errAway, err) // an event without its blank line is none
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			id = line[len("id: "):]
		case strings.HasPrefix(line, "data: "):
			data = line[len("data: "):]
		case line == "" && data != "":
			if err := s.add(id, data); err != nil {
				return err
			}
			if f.fuse.Add(-1) == 0 {
				f.due <- struct{}{}
			}
			id, data = "", ""
		}
	}
}

// read reads a stream to its last event, coming back as often as it takes. It
// says whether that went well.
func (f *fallible) read(s *stream) bool {
	for deadline := time.Now().Add(2 * time.Minute); !s.done; {
		response, err := f.open(s)
		connected := err == nil
		if err == nil {
			err = f.follow(s, response)
		}
		switch {
		case !errors.Is(err, errAway):
			f.t.Errorf("%s, task %q: %v", s.agent, s.taskID, err)
			return false
		case time.Now().After(deadline):
			f.t.Errorf("%s, task %q: no end after event %d", s.agent, s.taskID, len(s.events))
			return false
		case s.done:
		case !connected:
			time.Sleep(5 * time.Millisecond) // it has not come back
		case s.taskID != "":
			s.cuts++
		}
	}
	return true
}

// result asks an agent and reads what is not a stream.
func (f *fallible) result(agent, method string, params any, into any) {
	f.t.Helper()
	response, err := f.post(agent, method, params)
	if err != nil {
		f.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer := struct{ Result any }{into}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		f.t.Fatal(err)
	}
}

// openRuns counts the runs that have not ended.
func (f *fallible) openRuns() (count int) {
	f.t.Helper()
	for _, agent := range []string{"nl2ql", "assistant"} {
		for _, state := range []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"} {
			var page struct{ TotalSize int }
			f.result(agent, "ListTasks", object{"status": state, "pageSize": 1}, &page)
			count += page.TotalSize
		}
	}
	return count
}

// check compares what a client was sent with what others are told of it.
func (f *fallible) check(c client, s *stream) {
	f.t.Helper()
	again := &stream{probe: s.probe, taskID: s.taskID}
	if !f.read(again) || !slices.Equal(again.events, s.events) {
		f.t.Errorf("task %s: replayed\n%q, was\n%q", s.taskID, again.events, s.events)
	}
	var task struct {
		ID        string
		Status    object
		History   []any
		Artifacts []any
	}
	f.result(s.agent, "GetTask", object{"id": s.taskID}, &task)
	var status object
	var artifacts []any
	history := task.History[:1] // the question, which not every stream begins with
	for _, data := range s.events {
		var e struct {
			Result struct {
				StatusUpdate   struct{ Status object }
				ArtifactUpdate struct{ Artifact any }
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			f.t.Fatal(err)
		}
		if update := e.Result.StatusUpdate; update.Status != nil {
			if status["message"] != nil {
				history = append(history[:len(history):len(history)], status["message"])
			}
			status = update.Status
		}
		if made := e.Result.ArtifactUpdate.Artifact; made != nil {
			artifacts = append(artifacts, made)
		}
	}
	if task.ID != s.taskID || !reflect.DeepEqual(task.Status, status) || !reflect.DeepEqual(task.Artifacts, artifacts) || !reflect.DeepEqual(task.History, history) {
		f.t.Errorf("task %s is\n%+v\nits events come to\n%+v\n%+v\n%+v", s.taskID, task, status, artifacts, history)
	}
	var run struct {
		Status    string
		CanResume bool
	}
	if c.ask("GET", "/query/runs/"+s.taskID, nil, &run); run.Status != "completed" || run.CanResume {
		f.t.Errorf("run %s: %+v", s.taskID, run)
	}
}

// checkAllEnded waits until all runs have ended, those too that nobody heard of,
// and looks at what became of them.
func (c client) checkAllEnded(atLeast int) {
	c.t.Helper()
	service := &fallible{t: c.t, token: c.token, where: func() *process { return c.process }}
	all := 0
	eventually(c.t, func() bool { return service.openRuns() == 0 })
	for _, agent := range []string{"nl2ql", "assistant"} {
		for token := "-"; token != ""; {
			var page struct {
				Tasks []struct {
					ID     string
					Status object
				}
				NextPageToken string
			}
			service.result(agent, "ListTasks", object{"pageSize": 100, "pageToken": strings.TrimPrefix(token, "-")}, &page)
			for _, task := range page.Tasks {
				if all++; task.Status["state"] != "TASK_STATE_COMPLETED" {
					c.t.Errorf("%s, task %s: %v", agent, task.ID, task.Status)
				}
			}
			token = page.NextPageToken
		}
	}
	var list struct{ Conversations []struct{ ID string } }
	c.ask("GET", "/query/conversations?username=self&namespace=shop", nil, &list)
	turns := 0
	for _, conversation := range list.Conversations {
		var read struct {
			Turns []struct{ RunID, Status string }
		}
		c.ask("GET", "/query/conversations/"+conversation.ID, nil, &read)
		for _, turn := range read.Turns {
			if turns++; turn.Status != "completed" {
				c.t.Errorf("run %s: %s", turn.RunID, turn.Status)
			}
		}
	}
	c.t.Logf("%d runs, of which %d were never heard of", all, all-atLeast)
	if all < atLeast || turns != all {
		c.t.Errorf("%d tasks and %d turns, for %d streams", all, turns, atLeast)
	}
}

// load is clients that stream until all is asked.
type load struct {
	t       testing.TB
	clients sync.WaitGroup
	downs   atomic.Int64

	mu      sync.Mutex
	more    *sync.Cond
	streams []*stream
	allowed int
	waiting map[*stream]bool
}

func startLoad(service *fallible, count, clients int) *load {
	l := &load{t: service.t, waiting: map[*stream]bool{}}
	l.more = sync.NewCond(&l.mu)
	for range clients {
		l.clients.Go(func() {
			for s := l.next(count); s != nil && service.read(s); s = l.next(count) {
				l.mu.Lock()
				delete(l.waiting, s)
				l.mu.Unlock()
			}
		})
	}
	return l
}

// next gives a stream to be read, when it may; nil when there are enough.
func (l *load) next(count int) *stream {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.streams) == l.allowed && l.allowed < count {
		l.more.Wait()
	}
	if len(l.streams) == count {
		return nil
	}
	s := &stream{probe: questions[len(l.streams)%len(questions)], born: int(l.downs.Load())}
	l.streams = append(l.streams, s)
	l.waiting[s] = true
	return s
}

// allow lets clients begin so many streams in all.
func (l *load) allow(streams int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.allowed = streams
	l.more.Broadcast()
}

// await waits until no stream is left from before the last time but one that the
// server was down, and no run of which nobody heard: one that too many servers
// die of is given up.
func (l *load) await(downs int, service *fallible) {
	eventually(l.t, func() bool {
		waiting, stale := l.count(downs - 1)
		return l.t.Failed() || stale == 0 && service.openRuns() <= waiting
	})
}

// count gives how many streams have not ended, and how many of them are from
// before a time that the server was down.
func (l *load) count(born int) (waiting, stale int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for s := range l.waiting {
		if s.born < born {
			stale++
		}
	}
	return len(l.waiting), stale
}
