package rest

import (
	"net/http"
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
