package a2aserver

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	legacy "github.com/a2aproject/a2a-go/a2a"
	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/jsonrpc"
	"parley/internal/domain"
)

// bindings are the ways to call the agent of a host. Each takes a method of 1.0 and its
// params, and says it in its own words.
type bindings struct {
	testing.TB
	server *httptest.Server
	conn   *grpc.ClientConn
}

// callIn is a call by a binding.
type callIn func(b bindings, who domain.Caller, method, params, version string) outcome

var allBindings = map[string]callIn{
	"JSON-RPC": bindings.jsonRPC, "HTTP+JSON": bindings.httpJSON, "gRPC": bindings.gRPC, "0.3": bindings.legacy,
}

// outcome is what came of a call, in the words of 1.0.
type outcome struct {
	// unsaid says that the binding has no words for the call.
	unsaid bool
	// reason and message are those of an error; code is JSON-RPC's for it.
	code            int
	reason, message string
	// results are the result, or the events of a stream.
	results []string
}

func (o outcome) String() string {
	if o.reason != "" {
		return fmt.Sprintf("%d %s: %s", o.code, o.reason, o.message)
	}
	return strings.Join(o.results, "\n")
}

func newBindings(t testing.TB, h *Host) bindings {
	t.Helper()
	return bindings{t, serveHost(t, h), dialGRPC(t, h)}
}

// result returns a result of 1.0 in a form that can be compared.
func (b bindings) result(method, text string) string {
	b.Helper()
	message := b.message(described(method).Output().FullName())
	if err := protojson.Unmarshal([]byte(text), message); err != nil {
		b.Fatalf("%s: %v: %s", method, err, text)
	}
	return b.proto(message)
}

// proto returns a message in the form of result.
func (b bindings) proto(message proto.Message) string {
	b.Helper()
	text, err := protojson.Marshal(message)
	var value any
	if err == nil {
		err = json.Unmarshal(text, &value)
	}
	if err == nil {
		text, err = json.Marshal(value) // in order, and without random blanks
	}
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// described returns the protocol's description of a method.
func described(method string) protoreflect.MethodDescriptor {
	return a2apb.File_a2av1_proto.Services().ByName("A2AService").Methods().ByName(protoreflect.Name(method))
}

func (b bindings) jsonRPC(who domain.Caller, method, params, version string) outcome {
	b.Helper()
	response := postAs(b, b.server, who, rpc("1", method, params), a2a.SvcParamVersion, version)
	var got outcome
	b.eachAnswer(response, func(text string) {
		var answer struct {
			Result json.RawMessage
			Error  *struct {
				Code    int
				Message string
				Data    []struct{ Reason string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			b.Fatalf("%v: %s", err, text)
		}
		if answer.Error != nil {
			got.code, got.message, got.reason = answer.Error.Code, answer.Error.Message, answer.Error.Data[0].Reason
			return
		}
		got.results = append(got.results, b.result(method, string(answer.Result)))
	})
	return got
}

// eachAnswer returns the body of a response, or each event of a stream.
func (b bindings) eachAnswer(response *http.Response, each func(text string)) {
	b.Helper()
	if response.Header.Get("Content-Type") != "text/event-stream" {
		each(textOf(b, response))
		return
	}
	for _, event := range eventsOf(b, response) {
		each(event.data)
	}
}

func (b bindings) httpJSON(who domain.Caller, method, params, version string) outcome {
	b.Helper()
	verb, path, body, ok := b.inHTTP(method, params)
	if !ok {
		return outcome{unsaid: true}
	}
	response := sendHTTP(b, b.server, who, verb, path, body, a2a.SvcParamVersion, version)
	var got outcome
	b.eachAnswer(response, func(text string) {
		var answer struct {
			Error *struct {
				Code            int
				Status, Message string
				Details         []struct{ Reason string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			b.Fatalf("%v: %s", err, text)
		}
		if answer.Error == nil {
			got.results = append(got.results, b.result(method, text))
			return
		}
		got.message, got.reason = answer.Error.Message, answer.Error.Details[0].Reason
		got.code = codeOf(got.reason)
		want, name := statusOf(got)
		if answer.Error.Code != want || response.StatusCode != want || answer.Error.Status != name.String() {
			b.Errorf("%s: %d %s", path, response.StatusCode, text)
		}
	})
	return got
}

// statusOf returns the statuses of HTTP and gRPC for an error.
func statusOf(got outcome) (int, rpccode.Code) {
	var kind error
	if got.reason == "RESOURCE_EXHAUSTED" {
		kind = domain.ErrTooMany // the code is that of other errors too
	}
	return (&jsonrpc.Error{Code: got.code}).Status(kind)
}

// codeOf returns JSON-RPC's code of a reason.
func codeOf(reason string) int {
	for _, kind := range []error{
		a2a.ErrParseError, a2a.ErrInvalidRequest, a2a.ErrMethodNotFound, a2a.ErrInvalidParams, a2a.ErrTaskNotFound, a2a.ErrTaskNotCancelable,
		a2a.ErrPushNotificationNotSupported, a2a.ErrUnsupportedOperation, a2a.ErrUnsupportedContentType, a2a.ErrInvalidAgentResponse,
		a2a.ErrExtendedCardNotConfigured, a2a.ErrExtensionSupportRequired, a2a.ErrVersionNotSupported, a2a.ErrUnauthenticated,
		a2a.ErrUnauthorized, a2a.ErrInternalError, domain.ErrTooMany,
	} {
		failure := jsonrpc.ToError(kind)
		if failure.Details()[0].(*errdetails.ErrorInfo).GetReason() == reason {
			return failure.Code
		}
	}
	return 0
}

// inHTTP says a call in HTTP+JSON: what the path does not hold is the body, or the query.
func (b bindings) inHTTP(method, params string) (verb, path, body string, ok bool) {
	b.Helper()
	var members map[string]any
	if json.Unmarshal([]byte(params), &members) != nil {
		return "", "", "", false
	}
	at := slices.IndexFunc(httpOperations, func(o httpOperation) bool { return o.rpc == method })
	operation := httpOperations[at]
	var segments []string
	for segment := range strings.SplitSeq(operation.path, "/") {
		if name, verb, isValue := strings.Cut(strings.TrimPrefix(segment, "{"), "}"); isValue {
			value, _ := members[name].(string)
			if value == "" {
				return "", "", "", false
			}
			delete(members, name)
			segment = url.PathEscape(value) + verb
		}
		segments = append(segments, segment)
	}
	path = strings.Join(segments, "/")
	if operation.body {
		text, err := json.Marshal(members)
		if err != nil {
			b.Fatal(err)
		}
		return operation.method, path, string(text), true
	}
	query := url.Values{}
	for name, value := range members {
		query.Set(name, fmt.Sprint(value))
	}
	return operation.method, path + "?" + query.Encode(), "", true
}

func (b bindings) gRPC(who domain.Caller, method, params, version string) outcome {
	b.Helper()
	in, out := b.message(described(method).Input().FullName()), b.message(described(method).Output().FullName())
	if protojson.Unmarshal([]byte(params), in) != nil {
		return outcome{unsaid: true}
	}
	ctx := metadata.AppendToOutgoingContext(b.Context(), "x-user", who.Username, "x-restriction", who.Restriction, a2a.SvcParamVersion, version)
	path := "/lf.a2a.v1.A2AService/" + method
	var got outcome
	var err error
	if described(method).IsStreamingServer() {
		var stream grpc.ClientStream
		stream, err = b.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, path)
		if err == nil {
			var events []*a2apb.StreamResponse
			client := &grpc.GenericClientStream[a2apb.SendMessageRequest, a2apb.StreamResponse]{ClientStream: stream}
			if err = stream.SendMsg(in); err == nil {
				err = stream.CloseSend()
			}
			events, err = received(client, err)
			for _, event := range events {
				got.results = append(got.results, b.proto(event))
			}
		}
	} else if err = b.conn.Invoke(ctx, path, in, out); err == nil {
		got.results = []string{b.proto(out)}
	}
	if err == nil {
		return got
	}
	said := status.Convert(err)
	if len(said.Details()) == 0 {
		b.Fatalf("%s: %v", method, err)
	}
	info, _ := said.Details()[0].(*errdetails.ErrorInfo)
	got.message, got.reason = said.Message(), info.GetReason()
	got.code = codeOf(got.reason)
	if _, want := statusOf(got); said.Code() != codes.Code(want) {
		b.Errorf("%s: %v, want %s", method, err, want)
	}
	return got
}

// message returns an empty message of a type.
func (b bindings) message(name protoreflect.FullName) proto.Message {
	b.Helper()
	found, err := protoregistry.GlobalTypes.FindMessageByName(name)
	if err != nil {
		b.Fatal(err)
	}
	return found.New().Interface()
}

// legacyNames has the methods of 0.3.
var legacyNames = map[string]string{
	"SendMessage": "message/send", "SendStreamingMessage": "message/stream", "GetTask": "tasks/get", "CancelTask": "tasks/cancel",
	"SubscribeToTask": "tasks/resubscribe", "GetExtendedAgentCard": "agent/getAuthenticatedExtendedCard",
	"CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set", "GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get",
	"ListTaskPushNotificationConfigs": "tasks/pushNotificationConfig/list", "DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete",
}

func (b bindings) legacy(who domain.Caller, method, params, version string) outcome {
	b.Helper()
	params, ok := b.inLegacy(method, params)
	if !ok {
		return outcome{unsaid: true}
	}
	if version == protocolVersion {
		version = legacyVersion
	}
	response := postAs(b, b.server, who, rpc("1", legacyNames[method], params), a2a.SvcParamVersion, version)
	var got outcome
	b.eachAnswer(response, func(text string) {
		var answer struct {
			Result json.RawMessage
			Error  *struct {
				Code    int
				Message string
				Data    struct{ Reason string }
			}
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			b.Fatalf("%v: %s", err, text)
		}
		if answer.Error != nil {
			got.code, got.message, got.reason = answer.Error.Code, answer.Error.Message, answer.Error.Data.Reason
			return
		}
		got.results = append(got.results, b.fromLegacy(method, answer.Result))
	})
	return got
}

// inLegacy says the params of a call in 0.3.
func (b bindings) inLegacy(method, params string) (string, bool) {
	b.Helper()
	if legacyNames[method] == "" {
		return "", false
	}
	if method != "SendMessage" && method != "SendStreamingMessage" {
		var members map[string]any
		if err := json.Unmarshal([]byte(params), &members); err != nil {
			b.Fatal(err)
		}
		if task, ok := members["taskId"]; ok {
			members = map[string]any{"id": task, "taskId": task, "pushNotificationConfigId": members["id"], "pushNotificationConfig": members}
		}
		text, err := json.Marshal(members)
		return string(text), err == nil
	}
	var request a2a.SendMessageRequest
	if json.Unmarshal([]byte(params), &request) != nil {
		return "", false
	}
	converted := a2av0.FromV1SendMessageRequest(&request)
	text, err := json.Marshal(converted)
	return string(text), err == nil
}

// fromLegacy returns a result of 0.3 as 1.0 has it.
func (b bindings) fromLegacy(method string, result json.RawMessage) string {
	b.Helper()
	if method == "GetExtendedAgentCard" {
		return b.result(method, string(result))
	}
	event, err := legacy.UnmarshalEventJSON(result)
	if err != nil {
		b.Fatalf("%v: %s", err, result)
	}
	converted, err := a2av0.ToV1Event(event)
	if err != nil {
		b.Fatalf("%v: %s", err, result)
	}
	var text []byte
	if task, ok := converted.(*a2a.Task); ok && method != "SendMessage" && method != "SubscribeToTask" {
		text, err = a2ajson.AppendTask(nil, task)
	} else {
		text, err = a2ajson.AppendEvent(nil, converted)
	}
	if err != nil {
		b.Fatal(err)
	}
	return b.result(method, string(text))
}
