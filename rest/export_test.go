package rest

import (
	"net/http/httptest"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/fair"
)

// RowsForNew is a path that is another's for one name.
const RowsForNew = rowsForNew

// Routes lists every route, for the tests that hold for all of them.
func (s *Server) Routes() gin.RoutesInfo {
	// The router replaces escaped colons with its first request.
	s.engine.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/healthz", nil))
	return s.engine.Routes()
}

// HTTPBinding lists the operations of A2A's HTTP+JSON binding.
func HTTPBinding() (operations []string) {
	for _, tenant := range httpTenants {
		for _, operation := range httpBinding {
			operations = append(operations, operation.method+" /a2a/:agent"+tenant+strings.ReplaceAll(operation.path, `\:`, ":"))
		}
	}
	return operations
}

// SetQueueTimeout changes how long large requests wait.
func (s *Server) SetQueueTimeout(d time.Duration) { s.queueTimeout = d }

// ResultStats returns the counts of the queue of results.
func (s *Server) ResultStats() fair.Stats { return s.results.Stats() }

// DownloadStats returns the counts of the queue of downloads.
func (s *Server) DownloadStats() fair.Stats { return s.downloads.Stats() }

// Took returns the route that a request without a body or a token takes, "" for
// none, and the values of its parameters.
func (s *Server) Took(method, path string) (string, map[string]string) {
	c := gin.CreateTestContextOnly(httptest.NewRecorder(), s.engine)
	c.Request = httptest.NewRequest(method, path, nil)
	s.engine.HandleContext(c)
	values := map[string]string{}
	for _, param := range c.Params {
		values[param.Key] = param.Value
	}
	return c.FullPath(), values
}

// Loads is the queue of reads of large results.
func (s *Server) Loads() *fair.Queue { return s.loads }

// Decodes is the queue of bodies to decode.
func (s *Server) Decodes() *fair.Queue { return s.decodes }
