package rest

import (
	"context"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/internal/baseurl"
	"parley/storage"
)

// setBaseURL stores the public URL of a request in its context. A request without a host is
// refused, except for health checks: those of HTTP/1.0 send no Host.
func (s *Server) setBaseURL(c *gin.Context) {
	if c.Request.Host == "" && !isProbe(c.FullPath()) {
		writeError(c, storage.Errorf(errBadRequest, "the Host header is empty"))
		return
	}
	c.Request = c.Request.WithContext(s.withBaseURL(c.Request))
	c.Next()
}

// withBaseURL gives the context of a request with the public URL: the configured one, else
// that of the request.
func (s *Server) withBaseURL(r *http.Request) context.Context {
	if s.cfg.BaseURL != "" {
		return baseurl.With(r.Context(), strings.TrimRight(s.cfg.BaseURL, "/"), true)
	}
	url, attested := s.proxies.Of(r)
	if attested {
		return baseurl.WithAttested(r.Context(), url)
	}
	return baseurl.With(r.Context(), url, false)
}
