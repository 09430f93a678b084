package rest

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// httpBinding are the paths of A2A's HTTP+JSON binding below an agent. The last segments
// of a task hold a verb, which the agents' host reads.
var httpBinding = []struct{ method, path string }{
	{http.MethodPost, `/message\:send`},
	{http.MethodPost, `/message\:stream`},
	{http.MethodGet, "/tasks"},
	{http.MethodGet, "/tasks/:task"},
	{http.MethodPost, "/tasks/:task"},
	{http.MethodGet, "/tasks/:task/pushNotificationConfigs"},
	{http.MethodPost, "/tasks/:task/pushNotificationConfigs"},
	{http.MethodGet, "/tasks/:task/pushNotificationConfigs/:config"},
	{http.MethodDelete, "/tasks/:task/pushNotificationConfigs/:config"},
	{http.MethodGet, "/extendedAgentCard"},
}

// Tenants are namespaces: in a segment of their own, or in two.
var httpTenants = []string{"", "/:owner", "/:owner/:namespace"}

func (s *Server) routeHTTPBinding() {
	for _, tenant := range httpTenants {
		for _, operation := range httpBinding {
			s.engine.Handle(operation.method, Root+"/a2a/:agent"+tenant+operation.path, s.answerStatus(s.callAgentHTTP))
		}
	}
}

func (s *Server) callAgentHTTP(r *request) (err error) {
	var body []byte
	if r.Request.Method == http.MethodPost {
		if body, err = readBytes(r.Context, s.cfg.MaxBody, mediaJSON); err != nil {
			return err
		}
	}
	agent := pathValue(r.Context, "agent")
	_, path, _ := strings.Cut(strings.TrimPrefix(r.Request.URL.EscapedPath(), Root+"/a2a/"), "/")
	defer s.extendDeadlines(r.Context)()
	return s.cfg.Agents.CallHTTP(r.Writer, r.Request, r.caller, agent, path, body)
}

// answerStatus is answer for an operation of the HTTP+JSON binding, whose errors are
// google.rpc.Status.
func (s *Server) answerStatus(operation func(r *request) error) gin.HandlerFunc {
	return s.answer(func(c *gin.Context) error {
		err := s.authenticated(c, operation)
		if err != nil {
			c.Set(statusKey, true)
		}
		return err
	})
}

// statusKey is the gin key of a request whose errors are google.rpc.Status.
const statusKey = "status"

// errorStatus is a google.rpc.Status as AIP-193 has it.
type errorStatus struct {
	Error struct {
		Code    int         `json:"code"`
		Status  string      `json:"status"`
		Message string      `json:"message"`
		Details []errorInfo `json:"details"`
	} `json:"error"`
}

// errorInfo is a google.rpc.ErrorInfo.
type errorInfo struct {
	Type   string `json:"@type"`
	Reason string `json:"reason"`
	Domain string `json:"domain"`
}

// statusNames has the names of google.rpc.Code, and A2A's reason, for HTTP's statuses of
// requests that no agent has seen.
var statusNames = map[int]struct{ code, reason string }{
	http.StatusUnauthorized:          {"UNAUTHENTICATED", "UNAUTHENTICATED"},
	http.StatusForbidden:             {"PERMISSION_DENIED", "UNAUTHORIZED"},
	http.StatusNotFound:              {"NOT_FOUND", "METHOD_NOT_FOUND"},
	http.StatusUnsupportedMediaType:  {"INVALID_ARGUMENT", "CONTENT_TYPE_NOT_SUPPORTED"},
	http.StatusTooManyRequests:       {"RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED"},
	http.StatusInternalServerError:   {"INTERNAL", "INTERNAL_ERROR"},
	http.StatusServiceUnavailable:    {"UNAVAILABLE", "INTERNAL_ERROR"},
	http.StatusBadRequest:            {"INVALID_ARGUMENT", "INVALID_REQUEST"},
	http.StatusRequestEntityTooLarge: {"INVALID_ARGUMENT", "INVALID_REQUEST"},
}

// toStatus gives an error response as a google.rpc.Status.
func toStatus(status int, body errorResponse) errorStatus {
	name, ok := statusNames[status]
	if !ok {
		name.code, name.reason = "UNKNOWN", "HTTP_"+strconv.Itoa(status)
	}
	var out errorStatus
	out.Error.Code, out.Error.Status, out.Error.Message = status, name.code, body.Message
	out.Error.Details = []errorInfo{{"type.googleapis.com/google.rpc.ErrorInfo", name.reason, "a2a-protocol.org"}}
	return out
}
