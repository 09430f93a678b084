package rest

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/internal/auth"
	"parley/internal/domain"
	"parley/rest/mcp"
	"parley/rest/middleware"
)

// Names of the agents in paths, bodies and records.
const (
	agentAssistant = "assistant"
	agentNL2QL     = "nl2ql"
)

// Agents runs the agents and serves A2A. Package a2aserver describes the methods.
type Agents interface {
	mcp.Agents
	PushTo(caller domain.Caller, id, address, token string) (domain.PushConfig, error)
	OpenStream(caller domain.Caller) (closeStream func(), err error)
	// path is what follows the agent: "", a namespace as "owner/name", or "v0.3" for A2A 0.3.
	Call(w http.ResponseWriter, r *http.Request, caller domain.Caller, agent, path string, body []byte) error
	CallHTTP(w http.ResponseWriter, r *http.Request, caller domain.Caller, agent, path string, body []byte) error
	RefuseHTTP(w http.ResponseWriter, r *http.Request, status int, message string)
	ServeGRPC(w http.ResponseWriter, r *http.Request, session auth.Session, refused error)
	ServeCatalog(w http.ResponseWriter, r *http.Request) error
	ServeCard(w http.ResponseWriter, r *http.Request, agent string) error
	ServeNamespaceCard(w http.ResponseWriter, r *http.Request, caller domain.Caller, agent string, namespace domain.NamespaceRef) error
	ServeLegacyCard(w http.ResponseWriter, r *http.Request, agent string) error
	ServeAICatalog(w http.ResponseWriter, r *http.Request) error
	ServeKeys(w http.ResponseWriter, r *http.Request) error
}

func (s *Server) getCard(c *gin.Context) error {
	return s.cfg.Agents.ServeCard(c.Writer, c.Request, pathValue(c, "agent"))
}

// serve makes an operation of a handler of the agents.
func serve(handle func(w http.ResponseWriter, r *http.Request) error) func(c *gin.Context) error {
	return func(c *gin.Context) error { return handle(c.Writer, c.Request) }
}

// serveHandler is serve for a handler that writes its errors itself.
func serveHandler(h http.Handler) func(c *gin.Context) error {
	return func(c *gin.Context) error {
		h.ServeHTTP(c.Writer, c.Request)
		return nil
	}
}

// getRootCard serves the card that clients look for when they know a host alone.
func (s *Server) getRootCard(c *gin.Context) error {
	return s.cfg.Agents.ServeCard(c.Writer, c.Request, agentAssistant)
}

// getLegacyCard serves a card of A2A 0.3; at the root of the host that of the assistant.
func (s *Server) getLegacyCard(c *gin.Context) error {
	agent := agentAssistant
	if c.Param("agent") != "" {
		agent = pathValue(c, "agent")
	}
	return s.cfg.Agents.ServeLegacyCard(c.Writer, c.Request, agent)
}

// getNamespaceCard serves the card of an agent for a namespace.
func (s *Server) getNamespaceCard(r *request) error {
	namespace := domain.NamespaceRef{Owner: r.pathUser("owner"), Name: r.pathName("namespace")}
	if err := r.err(); err != nil {
		return err
	}
	return s.cfg.Agents.ServeNamespaceCard(r.Writer, r.Request, r.caller, pathValue(r.Context, "agent"), namespace)
}

func (s *Server) callAgent(r *request) error {
	path := ""
	switch {
	case r.Param("owner") != "":
		path = pathValue(r.Context, "owner") + "/" + pathValue(r.Context, "namespace")
	case strings.HasSuffix(strings.TrimSuffix(r.FullPath(), "/"), legacyPath):
		path = legacyPath[1:]
	}
	defer s.queueBody(r.Context, r.caller.Username)()
	body, err := readBytes(r.Context, s.cfg.MaxAgentBody, mediaJSON)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(r.Context)()
	return s.cfg.Agents.Call(r.Writer, r.Request, r.caller, pathValue(r.Context, "agent"), path, body)
}

// legacyPath is what follows an agent for A2A 0.3.
const legacyPath = "/v0.3"

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
		defer s.queueBody(r.Context, r.caller.Username)()
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
	limit := s.cfg.MaxBody // the answer to an error is a refusal
	if err == nil {
		defer s.queueBody(c, session.Caller.Username)()
		limit = s.cfg.MaxAgentBody
	}
	c.Request.Body = http.MaxBytesReader(c.Writer, c.Request.Body, limit)
	s.cfg.Agents.ServeGRPC(c.Writer, c.Request, session, err)
	return nil
}
