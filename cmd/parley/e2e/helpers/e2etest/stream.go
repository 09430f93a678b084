package e2etest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
)

// Probe is a question to an agent and the expected events.
type Probe struct{ Agent, Text, Shape string }

// Questions are asked in turn under load.
var Questions = []Probe{
	{"nl2ql", "What is the maximum total?", "WORKING generated-query result-data COMPLETED"},
	{
		"assistant", "How many orders are there? What is the minimum total? What is the maximum total?",
		"task WORKING WORKING WORKING step-0 WORKING step-1 WORKING step-2 answer COMPLETED",
	},
}

// Stream has the events that a client has received.
type Stream struct {
	Probe
	TaskID string
	Events []string // as they came, the one numbered 1 first
	Done   bool
	// Born is how often the server was down before the stream began.
	Born int
	// Cuts is how often it broke after its first event.
	Cuts int
}

// confidence depends on the other datasets of the namespace.
var confidence = regexp.MustCompile(`"confidence":[0-9.e-]+`)

// ScrubConfidence replaces the confidences in a text.
func ScrubConfidence(text string) string {
	return confidence.ReplaceAllString(text, `"confidence":"<number>"`)
}

// Scrubbed is all events without what differs between runs.
func (s *Stream) Scrubbed() string {
	text := ScrubConfidence(strings.Join(s.Events, "\n"))
	return string(golden.Scrub([]byte(text)))
}

// streamed is the event in one line of data.
type streamed struct {
	Result struct {
		Task         Object
		StatusUpdate *struct {
			TaskID string
			Status struct {
				State   string
				Message Object
			}
		}
		ArtifactUpdate *struct {
			Artifact struct{ Name string }
		}
	}
	Error json.RawMessage
}

// name is a short name of the event.
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

// Shape names the events of a stream.
func (s *Stream) Shape() string {
	var names []string
	for _, data := range s.Events {
		e, _ := parse(data)
		names = append(names, e.name())
	}
	return strings.Join(names, " ")
}

func (s *Stream) add(id, data string) error {
	e, err := parse(data)
	switch {
	case strings.Contains(string(e.Error), "cannot be reached now; try again"):
		return fmt.Errorf("%w: %s", errUnavailable, data)
	case err != nil || e.Error != nil:
		return fmt.Errorf("after event %d: %s", len(s.Events), data)
	case id != strconv.Itoa(len(s.Events)+1):
		return fmt.Errorf("event %s after event %d", id, len(s.Events))
	case s.Done:
		return fmt.Errorf("an event after the last: %s", data)
	}
	s.Events = append(s.Events, data)
	if task := e.Result.Task; task != nil {
		s.TaskID, _ = task["id"].(string)
	}
	if update := e.Result.StatusUpdate; update != nil {
		s.TaskID = update.TaskID
		s.Done = slices.Contains([]string{"COMPLETED", "FAILED", "CANCELED", "REJECTED"}, e.name())
	}
	return nil
}

// Fallible is a server that may be down or move to another address.
type Fallible struct {
	T     testing.TB
	Token string
	Where func() *Process
	// Fuse counts the events until Due is signaled.
	Fuse atomic.Int64
	Due  chan struct{}
}

// AwaitEvents permits a total number of streams, and waits for a number of events, which
// the new streams alone must have. It reports whether they came.
func (f *Fallible) AwaitEvents(load *Load, streams int, events int64) bool {
	f.Fuse.Store(events)
	load.Allow(streams)
	select {
	case <-f.Due:
		return true
	case <-time.After(waittest.Limit):
		f.T.Error("nothing happens")
		return false
	}
}

// errUnavailable is a server that is down.
var errUnavailable = errors.New("the server is unavailable")

func (f *Fallible) post(agent, method string, params any, header ...string) (*http.Response, error) {
	body := RPCBody(method, ToJSON(params))
	header = append([]string{"Content-Type", "application/json"}, header...)
	response, err := f.Where().request(f.T.Context(), f.Token, http.MethodPost, "/api/v1/a2a/"+agent, strings.NewReader(body), header...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnavailable, err)
	}
	return response, nil
}

// QuestionParams are the parameters of a question about the shop over A2A.
func QuestionParams(text string) Object {
	return Object{"message": Object{
		"messageId": domain.NewID(), "role": "ROLE_USER", "parts": []Object{{"text": text}}, "metadata": Object{"namespace": "shop"},
	}}
}

// Open starts a stream or resumes it.
func (f *Fallible) Open(s *Stream) (*http.Response, error) {
	if s.TaskID == "" {
		return f.post(s.Agent, "SendStreamingMessage", QuestionParams(s.Text))
	}
	return f.post(s.Agent, "SubscribeToTask", Object{"id": s.TaskID}, "Last-Event-ID", strconv.Itoa(len(s.Events)))
}

// Follow reads a stream until its end or that of the connection.
func (f *Fallible) Follow(s *Stream, response *http.Response) error {
	defer func() { _ = response.Body.Close() }()
	lines := bufio.NewReader(response.Body)
	if response.Header.Get("Content-Type") != "text/event-stream" {
		text, err := lines.ReadString('\n')
		if err != nil || response.StatusCode == http.StatusServiceUnavailable {
			return fmt.Errorf("%w: %d", errUnavailable, response.StatusCode)
		}
		return fmt.Errorf("no stream after event %d: %d %s", len(s.Events), response.StatusCode, text)
	}
	id, data := "", ""
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return fmt.Errorf("%w: %w", errUnavailable, err) // an event without its blank line is none
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
			if f.Fuse.Add(-1) == 0 {
				f.Due <- struct{}{}
			}
			id, data = "", ""
		}
	}
}

// Read reads a stream to its last event and reconnects as often as needed. It reports
// success.
func (f *Fallible) Read(s *Stream) bool {
	for deadline := time.Now().Add(2 * time.Minute); !s.Done; {
		response, err := f.Open(s)
		connected := err == nil
		if err == nil {
			err = f.Follow(s, response)
		}
		switch {
		case !errors.Is(err, errUnavailable):
			f.T.Errorf("%s, task %q: %v", s.Agent, s.TaskID, err)
			return false
		case time.Now().After(deadline):
			f.T.Errorf("%s, task %q: no end after event %d", s.Agent, s.TaskID, len(s.Events))
			return false
		case s.Done:
		case !connected:
			time.Sleep(5 * time.Millisecond) // it has not come back
		case s.TaskID != "":
			s.Cuts++
		}
	}
	return true
}

// Result calls a method of an agent that does not stream.
func (f *Fallible) Result(agent, method string, params any, into any) {
	f.T.Helper()
	response, err := f.post(agent, method, params)
	if err != nil {
		f.T.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	answer := struct{ Result any }{into}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil {
		f.T.Fatal(err)
	}
}

// OpenRuns counts the runs that have not ended.
func (f *Fallible) OpenRuns() (count int) {
	f.T.Helper()
	for _, agent := range []string{"nl2ql", "assistant"} {
		for _, state := range []string{"TASK_STATE_SUBMITTED", "TASK_STATE_WORKING"} {
			var page struct{ TotalSize int }
			f.Result(agent, "ListTasks", Object{"status": state, "pageSize": 1}, &page)
			count += page.TotalSize
		}
	}
	return count
}

// Check compares the events of a client with a replay, the task and the run.
func (f *Fallible) Check(c Client, s *Stream) {
	f.T.Helper()
	again := &Stream{Probe: s.Probe, TaskID: s.TaskID}
	if !f.Read(again) || !slices.Equal(again.Events, s.Events) {
		f.T.Errorf("task %s: replayed\n%q, was\n%q", s.TaskID, again.Events, s.Events)
	}
	type content struct {
		ID        string
		Status    Object
		History   []any
		Artifacts []any
	}
	var task content
	f.Result(s.Agent, "GetTask", Object{"id": s.TaskID}, &task)
	// The first of the history is the question, which not every stream begins with.
	want := content{ID: s.TaskID, History: task.History[:1:1]}
	for _, data := range s.Events {
		var e struct {
			Result struct {
				StatusUpdate   struct{ Status Object }
				ArtifactUpdate struct{ Artifact any }
			}
		}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			f.T.Fatal(err)
		}
		if update := e.Result.StatusUpdate; update.Status != nil {
			if want.Status["message"] != nil {
				want.History = append(want.History, want.Status["message"])
			}
			want.Status = update.Status
		}
		if made := e.Result.ArtifactUpdate.Artifact; made != nil {
			want.Artifacts = append(want.Artifacts, made)
		}
	}
	if diff := cmp.Diff(want, task); diff != "" {
		f.T.Errorf("task %s (- what its events come to, + what it is):\n%s", s.TaskID, diff)
	}
	var run struct {
		Status    string
		CanResume bool
	}
	if c.Ask("GET", "/query/runs/"+s.TaskID, nil, &run); run.Status != "completed" || run.CanResume {
		f.T.Errorf("run %s: %+v", s.TaskID, run)
	}
}

// CheckAllEnded waits until all runs have ended, also those without a client, and checks
// that they completed.
func (c Client) CheckAllEnded(atLeast int) {
	c.T.Helper()
	service := &Fallible{T: c.T, Token: c.Token, Where: func() *Process { return c.Process }}
	all := 0
	Eventually(c.T, func() bool { return service.OpenRuns() == 0 })
	for _, agent := range []string{"nl2ql", "assistant"} {
		for token := "-"; token != ""; {
			var page struct {
				Tasks []struct {
					ID     string
					Status Object
				}
				NextPageToken string
			}
			service.Result(agent, "ListTasks", Object{"pageSize": 100, "pageToken": strings.TrimPrefix(token, "-")}, &page)
			for _, task := range page.Tasks {
				if all++; task.Status["state"] != "TASK_STATE_COMPLETED" {
					c.T.Errorf("%s, task %s: %v", agent, task.ID, task.Status)
				}
			}
			token = page.NextPageToken
		}
	}
	var list struct{ Conversations []struct{ ID string } }
	c.Ask("GET", "/query/conversations?username=self&namespace=shop", nil, &list)
	turns := 0
	for _, conversation := range list.Conversations {
		var read struct {
			Turns []struct{ RunID, Status string }
		}
		c.Ask("GET", "/query/conversations/"+conversation.ID, nil, &read)
		for _, turn := range read.Turns {
			if turns++; turn.Status != "completed" {
				c.T.Errorf("run %s: %s", turn.RunID, turn.Status)
			}
		}
	}
	c.T.Logf("%d runs, of which %d were never heard of", all, all-atLeast)
	if all < atLeast || turns != all {
		c.T.Errorf("%d tasks and %d turns, for %d streams", all, turns, atLeast)
	}
}

// HeldQuestion starts a run that cannot end before letGo is called, and returns its
// stream, which is being read.
func (c Client) HeldQuestion() (s *Stream, ended chan bool, letGo func()) {
	c.T.Helper()
	letGo = c.Hold()
	f := &Fallible{T: c.T, Token: c.Token, Where: func() *Process { return c.Process }, Due: make(chan struct{}, 1)}
	s, ended = &Stream{Probe: Probe{Agent: "assistant", Text: "How many orders are there?"}}, make(chan bool, 1)
	f.Fuse.Store(4) // up to the first step, whose query hangs
	go func() { ended <- f.Read(s) }()
	<-f.Due
	return s, ended, letGo
}

// WholeStream is the shape of a held question that was answered.
const WholeStream = "task WORKING WORKING WORKING step-0 answer COMPLETED"
