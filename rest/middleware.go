package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"

	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/locale"
	"parley/rest/middleware"
)

// maxHeaders limits the headers of a request together, in bytes.
const maxHeaders = 64 << 10

// observe counts and logs requests.
func (s *Server) observe() gin.HandlerFunc {
	return middleware.Observe(middleware.ObserveConfig{
		Log:      s.cfg.Log,
		Metrics:  s.cfg.Metrics,
		IsProbe:  isProbe,
		IsStream: isGRPCStream,
		IsExpected: func(err error) bool {
			return errors.Is(err, errClientGone) || errors.Is(err, domain.ErrUnauthorized) || errors.Is(err, domain.ErrForbidden)
		},
	})
}

// isProbe reports whether a route is for monitoring.
func isProbe(route string) bool {
	return route == "/healthz" || route == "/readyz" || route == "/metrics"
}

// IsHealthCheck reports whether a request asks whether the server works.
func IsHealthCheck(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// recoverPanic answers a panic as an internal error.
func recoverPanic(c *gin.Context) {
	defer func() {
		switch cause := recover(); cause {
		case nil:
		case http.ErrAbortHandler:
			panic(cause)
		default:
			writeError(c, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	c.Next()
}

// limitHeaders refuses large headers with an error in our format; the HTTP server itself
// refuses much larger ones.
func limitHeaders(c *gin.Context) {
	size := 0
	for name, values := range c.Request.Header {
		for _, value := range values {
			size += len(name) + len(value)
		}
	}
	if size > maxHeaders {
		writeError(c, domain.Errorf(errBadRequest, "the request's headers are larger than %d bytes", maxHeaders))
		return
	}
	c.Next()
}

// setContext stores the public URL of a request and its reader's locale in its context. A
// request without a host is refused, except for health checks: those of HTTP/1.0 send no
// Host.
func (s *Server) setContext(c *gin.Context) {
	if c.Request.Host == "" && !isProbe(c.FullPath()) {
		writeError(c, domain.Errorf(errBadRequest, "the Host header is empty"))
		return
	}
	c.Request = c.Request.WithContext(locale.With(s.withBaseURL(c.Request), c.GetHeader("Accept-Language")))
	s.setMetadata(c)
	c.Next()
}

// withBaseURL returns the context of a request with the public URL: the configured one, else
// that of the request.
func (s *Server) withBaseURL(r *http.Request) context.Context {
	if s.cfg.BaseURL != "" {
		return baseurl.With(r.Context(), s.cfg.BaseURL, true)
	}
	url, attested := s.proxies.Of(r)
	if attested {
		return baseurl.WithAttested(r.Context(), url)
	}
	return baseurl.With(r.Context(), url, false)
}

// extendDeadlines replaces the server's timeouts for an operation that has read its body.
// Call end when the operation is done.
func (s *Server) extendDeadlines(c *gin.Context) (end func()) {
	// While the body is not read to its end, the server does not notice that the client
	// disconnects, and its read deadline stays.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(c.Writer, c.Request.Body, s.cfg.MaxBody))
	return middleware.LimitWrites(c, s.cfg.WriteTimeout)
}
