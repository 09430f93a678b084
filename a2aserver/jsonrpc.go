package a2aserver

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"google.golang.org/protobuf/proto"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/jsonrpc"
	"parley/a2aserver/params"
	"parley/internal/accept"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/internal/jsontext"
	"parley/internal/sse"
)

// transport answers the JSON-RPC requests to one agent.
type transport struct {
	*Config
	agent service
	// legacy says that only A2A 0.3 is spoken.
	legacy bool
}

// method is a method of the protocol, in every binding.
type method struct {
	// params returns empty params: a message of gRPC, or a struct of A2A 0.3. It is nil when
	// they are not read.
	params func() any
	// answer is set for a unary method, and returns its result as JSON, open for a streaming
	// one. lastEvent is the id of the last event that the client has; "" for none.
	answer func(ctx context.Context, t transport, in any) ([]byte, error)
	open   func(ctx context.Context, agent service, in any, lastEvent string) (subscription, error)
	// short says that it is one of the short requests of its caller. To send a message may wait
	// for a run, and to cancel one does not wait for other requests.
	short bool
}

var rpcMethods = map[string]method{
	"SendMessage":          immediate(sure(params.SendMessage), service.SendMessage, encodeSent),
	"SendStreamingMessage": stream(sure(params.SendMessage), openMessage),
	"GetTask":              unary(sure(params.GetTask), service.GetTask, encodeTask),
	"ListTasks":            unary(sure(params.ListTasks), service.ListTasks, encodeList),
	"CancelTask":           immediate(sure(params.CancelTask), service.CancelTask, encodeTask),
	"SubscribeToTask":      stream(sure(params.Subscribe), openTask),
	"GetExtendedAgentCard": unary(sure(params.ExtendedCard), service.GetExtendedAgentCard, transport.encodeCard),

	"CreateTaskPushNotificationConfig": unary(sure(params.PushConfig), service.CreateTaskPushConfig, encodePushConfig),
	"GetTaskPushNotificationConfig":    unary(sure(params.GetPush), service.GetTaskPushConfig, encodePushConfig),
	"ListTaskPushNotificationConfigs":  unary(sure(params.ListPush), service.ListTaskPushConfigs, encodePushList),
	"DeleteTaskPushNotificationConfig": unary(sure(params.DeletePush), deletePush, encodeNone),
}

// sure makes a conversion of one without errors.
func sure[M, P any](convert func(in *M) P) func(in *M) (P, error) {
	return func(in *M) (P, error) { return convert(in), nil }
}

// immediate makes a method that converts params, calls the agent and encodes its result.
func immediate[M, P, R any](
	convert func(in *M) (P, error),
	call func(agent service, ctx context.Context, in P) (R, error),
	encode func(t transport, result R) ([]byte, error),
) method {
	return method{params: func() any { return new(M) }, answer: func(ctx context.Context, t transport, in any) ([]byte, error) {
		converted, err := convert(in.(*M))
		if err != nil {
			return nil, err
		}
		result, err := call(t.agent, ctx, converted)
		if err != nil {
			return nil, err
		}
		text, err := encode(t, result)
		if err != nil {
			return nil, fmt.Errorf("write a result: %w", err)
		}
		return text, nil
	}}
}

// unary is immediate for a short request.
func unary[M, P, R any](
	convert func(in *M) (P, error),
	call func(agent service, ctx context.Context, in P) (R, error),
	encode func(t transport, result R) ([]byte, error),
) method {
	m := immediate(convert, call, encode)
	m.short = true
	return m
}

// stream makes a method that converts params and opens a stream of the agent.
func stream[M, P any](
	convert func(in *M) (P, error),
	open func(ctx context.Context, agent service, in P, lastEvent string) (subscription, error),
) method {
	return method{params: func() any { return new(M) }, open: func(ctx context.Context, agent service, in any, lastEvent string) (subscription, error) {
		converted, err := convert(in.(*M))
		if err != nil {
			return nil, err
		}
		return open(ctx, agent, converted, lastEvent)
	}}
}

// call answers a unary method, whose params are read when a short request has its slot.
func (m method) call(ctx context.Context, t transport, read func() (any, error)) ([]byte, error) {
	if m.short {
		release, err := t.shortSlot(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	in, err := read()
	if err != nil {
		return nil, err
	}
	return m.answer(ctx, t, in)
}

// read takes the params out of a request, so that large ones are not in memory while a run
// works.
func (m method) read(request *jsonrpc.Request) (in any, err error) {
	text := request.Params
	if request.Params = nil; m.params == nil {
		return nil, nil
	}
	in = m.params()
	message, ok := in.(proto.Message)
	if !ok {
		return in, readLegacy(request.Method, text, in)
	}
	if problem := params.Read(request.Method, text, message); problem != nil {
		err = invalidField(problem.Field, "%s", problem.Text)
	}
	return in, err
}

// openStream reads the params of a streaming method and opens it.
func (t transport) openStream(r *http.Request, m method, request *jsonrpc.Request) (subscription, error) {
	return recovered(func() (subscription, error) {
		in, err := m.read(request)
		if err != nil {
			return nil, err
		}
		return m.open(r.Context(), t.agent, in, r.Header.Get("Last-Event-ID"))
	})
}

// serve answers a request body: one request or a batch.
func (t transport) serve(w http.ResponseWriter, r *http.Request, body []byte) {
	// The body was read: the read deadline must not end the answer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	entries, batch, err := jsonrpc.ReadEnvelope(body)
	switch {
	case err != nil:
		t.respond(w, http.StatusOK, t.failed(r.Context(), jsonrpc.Request{ID: jsonrpc.NullID, Legacy: t.legacy}, err))
	case batch:
		t.answerBatch(w, r, entries)
	default:
		t.serveOne(w, r, entries[0])
	}
}

func (t transport) serveOne(w http.ResponseWriter, r *http.Request, entry json.RawMessage) {
	ctx, memory := t.withReservation(r.Context())
	defer memory.release()
	r = r.WithContext(ctx)
	request, method, err := t.route(r, entry)
	if err == nil && method.open == nil {
		answer, err := t.answerOne(ctx, &request, method, nil)
		t.respond(w, jsonrpc.HTTPStatus(err), answer)
		return
	}
	wrap := rpcEnvelope(request.ID)
	if request.Legacy {
		r, wrap = r.WithContext(withLegacy(ctx)), legacyEnvelope(request.ID)
	}
	var events subscription
	asStream := acceptsOnlyStreams(r)
	if err == nil {
		events, err = t.openStream(r, method, &request)
		asStream = asStream || request.Legacy // clients of 0.3 do not look for an error outside of a stream
	}
	switch {
	case err != nil && asStream && !request.IsNotification() && jsonrpc.HTTPStatus(err) == http.StatusOK:
		t.refuseStream(r.Context(), w, request, err, wrap)
	case err != nil:
		t.respond(w, jsonrpc.HTTPStatus(err), t.failed(r.Context(), request, err))
	case request.IsNotification():
		events.close()
		t.respond(w, http.StatusOK, nil)
	default:
		t.stream(w, r, request, events, wrap)
	}
}

// acceptsOnlyStreams reports whether a client accepts server-sent events, and no JSON.
func acceptsOnlyStreams(r *http.Request) bool {
	streams := false
	for _, mediaType := range accept.MediaTypes(r.Header) {
		switch mediaType {
		case sse.MediaType:
			streams = true
		case mediaJSON, "application/*", "*/*":
			return false
		}
	}
	return streams
}

// route reads a request and gives its method.
func (t transport) route(r *http.Request, entry json.RawMessage) (jsonrpc.Request, method, error) {
	request, err := jsonrpc.ReadRequest(entry)
	method, ok := legacyMethods[request.Method]
	if request.Legacy = t.legacy || ok; err != nil {
		return request, method, err
	}
	version, err := readVersion(namedVersion(r), protocolVersion, legacyVersion)
	if err != nil {
		return request, method, err
	}
	if !ok && !t.legacy && version != legacyVersion {
		method, ok = rpcMethods[request.Method]
	}
	if !ok {
		return request, method, a2a.NewError(a2a.ErrMethodNotFound, fmt.Sprintf("there is no method %q", shorten(request.Method)))
	}
	return request, method, t.checkStructure(len(entry), func() int { return params.Structure(entry) })
}

// maxBatchBytes is the size of the responses of a batch after which no other request begins.
const maxBatchBytes = 16 << 20

// checkBatch refuses the next request of a batch that has taken a time, and has responses of
// some bytes: the limits of one request hold for all requests together.
func (t transport) checkBatch(took time.Duration, bytes int) error {
	switch {
	case t.RequestTimeout > 0 && took >= t.RequestTimeout:
		return domain.Errorf(domain.ErrUnavailable, "not done: the requests before it in the batch took longer than %v; send it alone", t.RequestTimeout)
	case bytes >= maxBatchBytes:
		return a2a.NewError(a2a.ErrInvalidRequest, fmt.Sprintf("not done: the responses before it in the batch have more than %d MiB; send it alone", maxBatchBytes>>20))
	}
	return nil
}

// answerBatch handles requests one after another, and writes each response before the
// next request, so that one response at a time is in memory.
func (t transport) answerBatch(w http.ResponseWriter, r *http.Request, entries []json.RawMessage) {
	answered := false
	start, bytes := time.Now(), 0
	// All requests are in memory until the last one is answered.
	r = r.WithContext(fair.WithRelease(r.Context(), func() {}))
	for _, entry := range entries {
		ctx, memory := t.withReservation(r.Context())
		request, method, err := t.route(r, entry)
		if err == nil && method.open != nil {
			err = a2a.NewError(a2a.ErrInvalidRequest, "streams cannot be part of a batch")
		}
		if err == nil {
			err = t.checkBatch(time.Since(start), bytes)
		}
		if answer, _ := t.answerOne(ctx, &request, method, err); answer != nil {
			t.respondPart(w, answer, !answered)
			answered, bytes = true, bytes+len(answer)
		}
		memory.release()
	}
	if !answered {
		t.respond(w, http.StatusOK, nil)
		return
	}
	_, _ = w.Write([]byte("]\n"))
}

func (t transport) respondPart(w http.ResponseWriter, response []byte, first bool) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(t.WriteTimeout))
	separator := ","
	if first {
		w.Header().Set("Content-Type", mediaJSON)
		separator = "["
	}
	// A write error means that the client is gone.
	_, _ = io.WriteString(w, separator)
	_, _ = w.Write(response)
}

// answerOne handles a request, or answers err if it is set. It gives the response, nil
// for a notification, and the error.
func (t transport) answerOne(ctx context.Context, request *jsonrpc.Request, method method, err error) ([]byte, error) {
	var result []byte
	if request.Legacy {
		ctx = withLegacy(ctx)
	}
	if err == nil {
		result, err = recovered(func() ([]byte, error) {
			return method.call(ctx, t, func() (any, error) { return method.read(request) })
		})
	}
	switch {
	case err != nil:
		return t.failed(ctx, *request, err), err
	case request.IsNotification():
		return nil, nil
	}
	return jsonrpc.ResultResponse(request.ID, result), nil
}

func (t transport) failed(ctx context.Context, request jsonrpc.Request, err error) []byte {
	failure := t.fail(ctx, request, err)
	switch {
	case request.IsNotification():
		return nil
	case request.Legacy:
		return jsonrpc.LegacyErrorResponse(request.ID, failure)
	}
	return jsonrpc.ErrorResponse(request.ID, failure)
}

// respond writes a response, or an empty one for a notification.
func (t transport) respond(w http.ResponseWriter, status int, response []byte) {
	if response == nil {
		setRetryAfter(w, status)
		w.WriteHeader(max(status, http.StatusNoContent))
		return
	}
	t.respondAs(w, mediaJSON, status, response)
}

// retryAfter is the Retry-After header of refused requests, in seconds.
const retryAfter = "2"

// setRetryAfter tells a client that was refused for overload when to try again.
func setRetryAfter(w http.ResponseWriter, status int) {
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", retryAfter)
	}
}

func (t transport) respondAs(w http.ResponseWriter, mediaType string, status int, response []byte) {
	setRetryAfter(w, status)
	// The handler may have taken longer than the server's write deadline.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(t.WriteTimeout))
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Content-Length", strconv.Itoa(len(response)+1))
	w.WriteHeader(status)
	// A write error means that the client is gone.
	_, _ = w.Write(response)
	_, _ = w.Write([]byte("\n"))
}

func encodeSent(_ transport, result a2a.SendMessageResult) ([]byte, error) {
	return a2ajson.AppendEvent(nil, result)
}

func encodeTask(_ transport, task *a2a.Task) ([]byte, error) { return a2ajson.AppendTask(nil, task) }

func encodeList(_ transport, list *a2a.ListTasksResponse) ([]byte, error) {
	return a2ajson.AppendList(nil, list)
}

func (t transport) encodeCard(card *a2a.AgentCard) ([]byte, error) { return t.CardJSON(card) }

func encodePushConfig(_ transport, config *a2a.PushConfig) ([]byte, error) {
	return jsontext.Marshal(config)
}

func encodePushList(_ transport, list *a2a.ListTaskPushConfigResponse) ([]byte, error) {
	if list.Configs == nil {
		list.Configs = []*a2a.PushConfig{} // not null
	}
	return jsontext.Marshal(list)
}

// none is the result of a method that has none.
type none struct{}

func deletePush(agent service, ctx context.Context, request *a2a.DeleteTaskPushConfigRequest) (none, error) {
	return none{}, agent.DeleteTaskPushConfig(ctx, request)
}

// encodeNone returns google.protobuf.Empty.
func encodeNone(transport, none) ([]byte, error) { return []byte("{}"), nil }

func openMessage(ctx context.Context, agent service, message *a2a.SendMessageRequest, _ string) (subscription, error) {
	return agent.stream(ctx, message)
}

func openTask(ctx context.Context, agent service, task *a2a.SubscribeToTaskRequest, lastEvent string) (subscription, error) {
	if lastEvent == "" {
		return agent.subscribe(ctx, task, -1)
	}
	number, err := strconv.ParseUint(lastEvent, 10, 63)
	if err != nil {
		return nil, invalidField("Last-Event-ID", "must be the number of an event")
	}
	return agent.subscribe(ctx, task, int64(number))
}
