// Package middleware handles what all HTTP requests have in common: their ids, headers,
// deadlines, unread bodies, metrics and access log. It knows no operation and no error of the
// interface.
package middleware

import (
	"log/slog"
	"regexp"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/internal/slogctx"
)

const (
	requestIDHeader = "X-Request-Id"
	maxRequestID    = 128
)

// requestIDPattern has no length: a counted repetition takes long to compile.
var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._:/+=@-]+$`)

// RequestID sets the id of a request: that of its header if it is valid, else a new one.
func RequestID(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if len(id) > maxRequestID || !requestIDPattern.MatchString(id) {
		id = uuid.NewString()
	}
	c.Header(requestIDHeader, id)
	c.Request = c.Request.WithContext(slogctx.With(c.Request.Context(), slog.String("request_id", id)))
	c.Next()
}

// SetHeaders forbids caching and content sniffing of responses.
func SetHeaders(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("X-Content-Type-Options", "nosniff")
	c.Next()
}
