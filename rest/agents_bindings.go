package rest

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/rest/middleware"
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
		defer s.limitBody(r.Context, r.caller.Username)()
		if body, err = readBytes(r.Context, s.cfg.MaxAgentBody, mediaJSON); err != nil {
			return err
		}
	}
	agent := pathValue(r.Context, "agent")
	_, path, _ := strings.Cut(strings.TrimPrefix(r.Request.URL.EscapedPath(), Root+"/a2a/"), "/")
	defer s.extendDeadlines(r.Context)()
	return s.cfg.Agents.CallHTTP(r.Writer, r.Request, r.caller, agent, path, body)
}

// answerStatus is answer for an operation of the HTTP+JSON binding, which has errors of its
// own.
func (s *Server) answerStatus(operation func(r *request) error) gin.HandlerFunc {
	return s.answer(func(c *gin.Context) error {
		err := s.authenticated(c, operation)
		if err != nil {
			c.Set(refuseKey, s.cfg.Agents.RefuseHTTP)
		}
		return err
	})
}

// refuseKey is the gin key of what writes the errors of a request, where that is not
// writeError.
const refuseKey = "refuse"

// grpcPath is the path of the methods of A2A's gRPC service.
const grpcPath = "/lf.a2a.v1.A2AService/:method"

// IsGRPC reports whether a request is one of gRPC.
func IsGRPC(r *http.Request) bool {
	return r.ProtoMajor == 2 && strings.HasPrefix(r.Header.Get("Content-Type"), "application/grpc")
}

// isGRPCStream reports whether a request is a call that is answered with a stream.
func isGRPCStream(c *gin.Context) bool {
	if c.FullPath() != grpcPath {
		return false
	}
	method := c.Param("method")
	return method == "SendStreamingMessage" || method == "SubscribeToTask"
}

// callGRPC answers a call of gRPC, whose errors are statuses of gRPC. Its message is read
// when the caller is known.
func (s *Server) callGRPC(c *gin.Context) error {
	if !IsGRPC(c.Request) {
		return errNoRoute
	}
	session, err := s.session(c)
	defer middleware.LimitWrites(c, s.cfg.WriteTimeout)()
	if err == nil {
		defer s.limitBody(c, session.Caller.Username)()
	} else {
		c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, s.cfg.MaxBody) // the answer is a refusal
	}
	s.cfg.Agents.ServeGRPC(c.Writer, c.Request, session, err)
	return nil
}
