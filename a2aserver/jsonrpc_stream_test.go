package a2aserver

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"

	"parley/a2aserver/jsonrpc"
	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
)

func streaming(events subscription) *fakeAgent {
	agent := echo()
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) { return events, nil }
	return agent
}

func waitFor(t *testing.T, what string, done <-chan struct{}) {
	t.Helper()
	select {
	case <-done:
	case <-time.After(waittest.Limit):
		t.Fatalf("waited in vain for %s", what)
	}
}

// readUntil reads a stream until a line.
func readUntil(t *testing.T, lines *bufio.Scanner, line string) {
	t.Helper()
	for lines.Scan() {
		if lines.Text() == line {
			return
		}
	}
	t.Fatalf("no line %q: %v", line, lines.Err())
}

func TestStream(t *testing.T) {
	t.Parallel()
	big := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	events := newSubscription(io.EOF, `{"statusUpdate":{}}`, big)
	server, done := listen(t, streaming(events), testConfig(io.Discard))
	response := post(t, server, rpc(`"a\u0000b"`, "SendStreamingMessage", aMessage))
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	want := "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"result\":{\"statusUpdate\":{}}}\n\n" +
		"id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":\"a\\u0000b\",\"result\":" + big + "}\n\n"
	if string(body) != want {
		t.Errorf("got %d bytes: %.200s", len(body), body)
	}
	for name, value := range map[string]string{"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"} {
		if got := response.Header.Get(name); got != value {
			t.Errorf("%s: %q", name, got)
		}
	}
	waitFor(t, "the handler", done)
	waitFor(t, "the subscription to be closed", events.closed)
}

func TestStreamHeadersLeaveAtOnceAndItIsKeptAlive(t *testing.T) {
	t.Parallel()
	cfg := testConfig(io.Discard)
	cfg.KeepAlive = time.Millisecond
	server, done := listen(t, streaming(newSubscription(nil)), cfg)
	// There is no event: only the headers can make this return.
	response := post(t, server, rpc("1", "SendStreamingMessage", aMessage))
	lines := bufio.NewScanner(response.Body)
	for range 3 {
		readUntil(t, lines, ": keep-alive")
	}
	response.Body.Close()
	waitFor(t, "the handler to see that its reader went away", done)
}

func TestStreamOutlivesTheServersTimeouts(t *testing.T) {
	t.Parallel()
	cfg := testConfig(io.Discard)
	cfg.KeepAlive = 10 * time.Millisecond
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		transport{Config: cfg, agent: streaming(newSubscription(nil))}.serve(w, r, body)
	}))
	server.Config.ReadTimeout = 500 * time.Millisecond
	server.Config.WriteTimeout = 500 * time.Millisecond
	server.Start()
	t.Cleanup(server.Close)
	start := time.Now()
	response := post(t, server, rpc("1", "SendStreamingMessage", aMessage))
	lines := bufio.NewScanner(response.Body)
	for time.Since(start) < time.Second {
		readUntil(t, lines, ": keep-alive")
	}
}

func TestStreamIsCutOffWhenNobodyReads(t *testing.T) {
	t.Parallel()
	cfg := testConfig(io.Discard)
	cfg.WriteTimeout = 50 * time.Millisecond
	big := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	events := newSubscription(nil)
	for i := range int64(64) {
		events.events = append(events.events, domain.Event{Number: i + 1, Body: []byte(big)})
	}
	server, done := listen(t, streaming(events), cfg)
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := rpc("1", "SendStreamingMessage", aMessage)
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	waitFor(t, "the handler", done)
	waitFor(t, "the subscription to be closed", events.closed)
}

func TestStreamErrors(t *testing.T) {
	t.Parallel()
	const fault = `"error":{"code":-32603,"message":"internal error`
	tests := []struct {
		name         string
		subscription subscription
		want         string
	}{
		{"fails", newSubscription(errors.New("secret"), `{"n":1}`), fault},
		{"loses its connection", newSubscription(fmt.Errorf("read events: secret: %w", io.EOF), `{"n":1}`), fault},
		{"unavailable", newSubscription(domain.ErrUnavailable, `{"n":1}`), "try again"},
		{"says why", newSubscription(a2a.NewError(a2a.ErrTaskNotFound, "the task was deleted"), `{"n":1}`), "the task was deleted"},
		{"body is not JSON", newSubscription(io.EOF, `{"n":1}`, "{\n"), fault},
		{"panics", &panickingSubscription{newSubscription(nil, `{"n":1}`)}, fault},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			got := ask(streaming(test.subscription), rpc("1", "SendStreamingMessage", aMessage)).Body.String()
			begin := "id: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"n\":1}}\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
			if !strings.HasPrefix(got, begin) || !strings.Contains(got, test.want) || !strings.HasSuffix(got, "}\n\n") ||
				strings.Contains(got, "secret") || strings.Count(got, "\n") != 5 {
				t.Errorf("got %s", got)
			}
		})
	}
}

type panickingSubscription struct{ *fakeSubscription }

func (p *panickingSubscription) next(ctx context.Context, tick <-chan time.Time) (domain.Event, error) {
	if len(p.events) == 0 {
		panic("secret")
	}
	return p.fakeSubscription.next(ctx, tick)
}

func TestStreamRefusedIsNoStream(t *testing.T) {
	t.Parallel()
	agent := echo()
	agent.subscribing = func(context.Context, *a2a.SubscribeToTaskRequest, int64) (subscription, error) {
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended")
	}
	w := ask(agent, rpc("1", "SubscribeToTask", `{"id":"t1"}`))
	if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "application/json" || !strings.Contains(w.Body.String(), `"code":-32004`) {
		t.Errorf("%d %v %s", w.Code, w.Header(), w.Body)
	}
}

func TestLastEventID(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]string{
		"": `"after":-1`, "0": `"after":0`, "7": `"after":7`, "9223372036854775807": `"after":9223372036854775807`,
		"-1": "-32602", "+1": "-32602", "x": "-32602", "1.0": "-32602", "9223372036854775808": "-32602",
	} {
		if w := ask(echo(), rpc("1", "SubscribeToTask", `{"id":"t1"}`), "Last-Event-ID", header); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%q: %s", header, w.Body)
		}
	}
}

// What the SDK's client makes of it.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	agent := echo()
	agent.cancel = func(context.Context, *a2a.CancelTaskRequest) (*a2a.Task, error) {
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "it has ended").WithErrorInfoMeta(map[string]string{"state": "done"})
	}
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) {
		return newSubscription(domain.Errorf(domain.ErrInvalid, "no more"),
			`{"statusUpdate":{"taskId":"t1","contextId":"c1","status":{"state":"TASK_STATE_WORKING"}}}`), nil
	}
	server, _ := listen(t, agent, testConfig(io.Discard))
	client := a2aclient.NewJSONRPCTransport(server.URL, server.Client())
	request := &a2a.SendMessageRequest{Message: a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart("a < b"))}
	result, err := client.SendMessage(t.Context(), nil, request)
	if err != nil || result.(*a2a.Task).History[0].Parts[0].Text() != "a < b" {
		t.Errorf("SendMessage: %v, %v", result, err)
	}
	_, err = client.CancelTask(t.Context(), nil, &a2a.CancelTaskRequest{ID: "t1"})
	var said *a2a.Error
	if !errors.Is(err, a2a.ErrTaskNotCancelable) || !errors.As(err, &said) || said.Message != "it has ended" ||
		fmt.Sprint(said.ErrorInfo().Value["metadata"]) != "map[state:done]" {
		t.Errorf("CancelTask: %v", err)
	}
	var events []a2a.Event
	for event, problem := range client.SendStreamingMessage(t.Context(), nil, request) {
		if err = problem; err == nil {
			events = append(events, event)
		}
	}
	if len(events) != 1 || !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("stream: %v, %v", events, err)
	}
}

// discard is a connection to a reader that reads everything.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header              { return d.header }
func (d *discard) Write(p []byte) (int, error)      { return len(p), nil }
func (d *discard) WriteHeader(int)                  {}
func (d *discard) FlushError() error                { return nil }
func (d *discard) SetReadDeadline(time.Time) error  { return nil }
func (d *discard) SetWriteDeadline(time.Time) error { return nil }

func BenchmarkStream(b *testing.B) {
	agent := echo()
	bodies := make([]string, 4)
	for i := range bodies {
		bodies[i] = `{"artifactUpdate":{"taskId":"t1","contextId":"c1","artifact":{"artifactId":"a","parts":[{"text":"` + strings.Repeat("x", 200) + `"}]}}}`
	}
	events := newSubscription(io.EOF, bodies...)
	agent.streaming = func(context.Context, *a2a.SendMessageRequest) (subscription, error) {
		return &fakeSubscription{events: events.events, end: io.EOF, closed: make(chan struct{})}, nil
	}
	t := transport{Config: testConfig(io.Discard), agent: agent}
	r := httptest.NewRequest(http.MethodPost, "/", nil)
	body := []byte(rpc("1", "SendStreamingMessage", aMessage))
	b.ReportAllocs()
	for b.Loop() {
		t.serve(&discard{header: http.Header{}}, r, body)
	}
}

func BenchmarkReadRequest(b *testing.B) {
	body := []byte(rpc("1", "SendStreamingMessage", aMessage))
	b.Run("envelope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			entries, _, err := jsonrpc.ReadEnvelope(body)
			if err == nil {
				_, err = jsonrpc.ReadRequest(entries[0])
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("params", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := rpcMethods["SendStreamingMessage"].read(&jsonrpc.Request{Method: "SendStreamingMessage", Params: []byte(aMessage)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A client that accepts only event streams gets the error of a refused stream as an event.
func TestRefusedStream(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	server := serveHost(t, newHost(t, store, fourEvents))
	unknown := rpcText("SubscribeToTask", map[string]any{"id": "00000000-0000-0000-0000-000000000000"})
	const streams = "text/event-stream"
	for name, test := range map[string]struct {
		accept, body string
		stream       bool
		code         string
	}{
		"only streams":             {streams, unknown, true, "-32001"},
		"in another form":          {"Text/Event-Stream; q=0.9 , text/*", unknown, true, "-32001"},
		"a message":                {streams, rpcText("SendStreamingMessage", map[string]any{}), true, "-32602"},
		"params of another type":   {streams, rpcText("SubscribeToTask", []int{}), true, "-32602"},
		"unknown method":           {streams, rpcText("Subscribe", nil), true, "-32601"},
		"JSON too":                 {"application/json, " + streams, unknown, false, "-32001"},
		"anything":                 {streams + ", */*;q=0.1", unknown, false, "-32001"},
		"not named":                {"", unknown, false, "-32001"},
		"a method without streams": {streams, rpcText("GetTask", map[string]any{"id": "00000000-0000-0000-0000-000000000000"}), false, "-32001"},
	} {
		response := postAs(t, server, alice, test.body, "Accept", test.accept)
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		want, media := `{"jsonrpc":"2.0","id":1,"error":{"code":`+test.code+`,`, "application/json"
		if test.stream {
			want, media = "data: "+want, streams
		}
		if got := response.Header.Get("Content-Type"); response.StatusCode != http.StatusOK || got != media || !strings.HasPrefix(string(body), want) {
			t.Errorf("%s: %s %s\n%s", name, response.Status, got, body)
		}
	}
}
