package a2aserver

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/jsonrpc"
	"parley/a2aserver/params"
	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/jsonscan"
)

// HTTP+JSON is transcoded: a path, its query and the body make the params of a method of
// JSON-RPC, whose result is the answer. So both bindings read and answer the same.

// mediaA2A is the media type of the binding; clients that do not ask for it get plain JSON.
const mediaA2A = "application/a2a+json"

// httpOperation is an operation of the HTTP+JSON binding.
type httpOperation struct {
	method string
	// path is how the path ends; what is in braces is the name of a member of the params.
	path string
	// rpc is the method of JSON-RPC.
	rpc string
	// query are the members that come as parameters of the address.
	query []string
	// body says that the body is the params.
	body bool
}

// httpOperations are those that the annotations of the protocol's service give, and
// SubscribeToTask by POST as well, as clients have it. The first that fits counts: the id
// of a task is never the name of an operation.
var httpOperations = []httpOperation{
	{method: http.MethodPost, path: "message:send", rpc: "SendMessage", body: true},
	{method: http.MethodPost, path: "message:stream", rpc: "SendStreamingMessage", body: true},
	{method: http.MethodGet, path: "extendedAgentCard", rpc: "GetExtendedAgentCard"},
	{method: http.MethodGet, path: "tasks", rpc: "ListTasks", query: []string{
		"contextId", "status", "pageSize", "pageToken", "historyLength", "statusTimestampAfter", "includeArtifacts",
	}},
	{method: http.MethodPost, path: "tasks/{id}:cancel", rpc: "CancelTask", body: true},
	{method: http.MethodGet, path: "tasks/{id}:subscribe", rpc: "SubscribeToTask"},
	{method: http.MethodPost, path: "tasks/{id}:subscribe", rpc: "SubscribeToTask", body: true},
	{method: http.MethodGet, path: "tasks/{taskId}/pushNotificationConfigs", rpc: "ListTaskPushNotificationConfigs", query: []string{"pageSize", "pageToken"}},
	{method: http.MethodPost, path: "tasks/{taskId}/pushNotificationConfigs", rpc: "CreateTaskPushNotificationConfig", body: true},
	{method: http.MethodGet, path: "tasks/{taskId}/pushNotificationConfigs/{id}", rpc: "GetTaskPushNotificationConfig"},
	{method: http.MethodDelete, path: "tasks/{taskId}/pushNotificationConfigs/{id}", rpc: "DeleteTaskPushNotificationConfig"},
	{method: http.MethodGet, path: "tasks/{id}", rpc: "GetTask", query: []string{"historyLength"}},
}

// CallHTTP answers a request of the HTTP+JSON binding to an agent. path is what follows
// the agent in the request's path, still escaped: an operation, after a tenant if there
// is one. Otherwise it is as [Host.Call]; ErrNotFound is for an unknown path too.
func (h *Host) CallHTTP(w http.ResponseWriter, r *http.Request, caller domain.Caller, agent, path string, body []byte) error {
	s, ok := h.services[agent]
	if !ok {
		return noAgent(agent)
	}
	operation, members, ok := routeHTTP(r.Method, path)
	if !ok {
		return domain.Errorf(domain.ErrNotFound, "unknown operation")
	}
	s.setExtensions(w, r)
	t := httpTransport{transport{Config: &h.cfg, agent: s}}
	t.serve(w, r.WithContext(auth.WithCaller(r.Context(), caller)), operation, members, body)
	return nil
}

// member is a member of the params that the path or the query gives.
type member struct{ name, value string }

// routeHTTP finds the operation of a path, and what the path says of its params.
func routeHTTP(method, path string) (httpOperation, []member, bool) {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, segment := range segments {
		text, err := url.PathUnescape(segment)
		if err != nil || text == "" {
			return httpOperation{}, nil, false
		}
		segments[i] = text
	}
	for _, operation := range httpOperations {
		pattern := strings.Split(operation.path, "/")
		tenant := len(segments) - len(pattern)
		if operation.method != method || tenant < 0 {
			continue
		}
		members, ok := matchPath(pattern, segments[tenant:])
		if !ok {
			continue
		}
		if tenant > 0 {
			members = append(members, member{"tenant", strings.Join(segments[:tenant], "/")})
		}
		return operation, members, true
	}
	return httpOperation{}, nil, false
}

func matchPath(pattern, segments []string) (members []member, ok bool) {
	for i, want := range pattern {
		name, verb, isValue := strings.Cut(strings.TrimPrefix(want, "{"), "}")
		if !isValue {
			if segments[i] != want {
				return nil, false
			}
			continue
		}
		value, ok := strings.CutSuffix(segments[i], verb)
		if !ok || value == "" {
			return nil, false
		}
		members = append(members, member{name, value})
	}
	return members, true
}

// httpTransport answers the HTTP+JSON requests to one agent.
type httpTransport struct{ transport }

func (t httpTransport) serve(w http.ResponseWriter, r *http.Request, operation httpOperation, members []member, body []byte) {
	// The body was read: the read deadline must not end the answer.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	ctx, memory := t.withReservation(r.Context())
	defer memory.release()
	r = r.WithContext(ctx)
	request := jsonrpc.Request{Method: operation.rpc}
	method := rpcMethods[operation.rpc]
	_, err := readVersion(namedVersion(r), protocolVersion)
	if err == nil {
		request.Params, err = httpParams(operation, members, r.URL.Query(), body)
	}
	if err == nil {
		err = t.checkStructure(len(body), func() int { return params.Structure(body) })
	}
	switch {
	case err != nil:
		t.refuse(ctx, w, r, request, err)
	case method.open != nil:
		events, err := t.openStream(r, method, &request)
		if err != nil {
			t.refuse(ctx, w, r, request, err)
			return
		}
		t.stream(w, r, request, events, httpEnvelope)
	default:
		result, err := recovered(func() ([]byte, error) {
			return method.call(ctx, t.transport, func() (any, error) { return method.read(&request) })
		})
		if err != nil {
			t.refuse(ctx, w, r, request, err)
			return
		}
		t.respondAs(w, mediaOf(r), http.StatusOK, result)
	}
}

// httpEnvelope sends events as they are stored.
var httpEnvelope = envelope{refused: "error", refusal: func(failure *jsonrpc.Error, err error) []byte {
	_, text := failure.HTTP(err)
	return text
}}

func (t httpTransport) refuse(ctx context.Context, w http.ResponseWriter, r *http.Request, request jsonrpc.Request, err error) {
	status, text := t.fail(ctx, request, err).HTTP(err)
	t.respondAs(w, mediaOf(r), status, text)
}

// RefuseHTTP answers a request of the HTTP+JSON binding that no agent has seen with a status
// of HTTP.
func (h *Host) RefuseHTTP(w http.ResponseWriter, r *http.Request, status int, message string) {
	transport{Config: &h.cfg}.respondAs(w, mediaOf(r), status, jsonrpc.Refusal(status, message))
}

// mediaOf returns the media type of the answer to a request.
func mediaOf(r *http.Request) string {
	if strings.Contains(r.Header.Get("Accept"), mediaA2A) {
		return mediaA2A
	}
	return mediaJSON
}

// httpParams returns the params that a request says in its path, its query and its body.
func httpParams(operation httpOperation, members []member, query url.Values, body []byte) (json.RawMessage, error) {
	members, err := addQuery(members, operation.query, query)
	if err != nil || !operation.body || len(bytes.TrimSpace(body)) == 0 {
		return appendMembers([]byte("{"), members, nil), err
	}
	switch {
	case !utf8.Valid(body):
		return nil, a2a.NewError(a2a.ErrParseError, "the request is not UTF-8")
	case !json.Valid(body):
		return nil, a2a.ErrParseError
	}
	if body = bytes.TrimLeft(body, " \t\r\n"); body[0] != '{' || len(members) == 0 {
		return body, nil
	}
	return appendMembers([]byte("{"), members, body), nil
}

// addQuery adds the parameters of an address that an operation knows. What the path says
// counts.
func addQuery(members []member, known []string, query url.Values) ([]member, error) {
	for _, name := range append([]string{"tenant"}, known...) {
		values := query[name]
		if snake := snakeCase(name); snake != name {
			values = append(values, query[snake]...)
		}
		if name == "statusTimestampAfter" {
			values = append(values, query["lastUpdatedAfter"]...) // as a2a-go 2.4 calls it
		}
		switch {
		case len(values) == 0 || values[0] == "" || has(members, name):
		case len(values) > 1:
			return members, invalidParams("%s is given more than once", name)
		default:
			members = append(members, member{name, values[0]})
		}
	}
	return members, nil
}

func has(members []member, name string) bool {
	return slices.ContainsFunc(members, func(m member) bool { return m.name == name || snakeCase(m.name) == name })
}

// snakeCase returns the other name that proto3-JSON has for a field.
func snakeCase(name string) string {
	var text strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			text.WriteByte('_')
			c += 'a' - 'A'
		}
		text.WriteRune(c)
	}
	return text.String()
}

// appendMembers writes an object of the members and those of a body, except the ones
// that it repeats. Duplicates within the body stay, to be refused.
func appendMembers(text []byte, members []member, body []byte) []byte {
	start := len(text)
	key := func(name string) {
		if len(text) > start {
			text = append(text, ',')
		}
		text = append(a2ajson.AppendString(text, name), ':')
	}
	for _, m := range members {
		key(m.name)
		switch {
		case m.name == "includeArtifacts" && (m.value == "true" || m.value == "false"):
			text = append(text, m.value...)
		default: // numbers are read as strings too
			text = a2ajson.AppendString(text, m.value)
		}
	}
	for name, value := range jsonscan.Members(body) {
		if !has(members, string(name)) {
			key(string(name))
			text = append(text, value...)
		}
	}
	return append(text, '}')
}
