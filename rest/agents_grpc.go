package rest

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/rest/middleware"
)

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
	defer s.limitBody(c, session.Caller.Username)()
	s.cfg.Agents.ServeGRPC(c.Writer, c.Request, session, err)
	return nil
}
