package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/internal/slogctx"
	"parley/internal/sse"
	"parley/storage"
)

const (
	requestIDHeader = "X-Request-Id"
	// userKey is the gin key of the authenticated user, for the access log.
	userKey = "user"
	// maxHeaders limits the headers of a request together, in bytes.
	maxHeaders = 64 << 10
)

var requestIDPattern = regexp.MustCompile(`^[A-Za-z0-9._:/+=@-]{1,128}$`)

// requestID sets the id of a request: that of its header if it is valid, else a new one.
func requestID(c *gin.Context) {
	id := c.GetHeader(requestIDHeader)
	if !requestIDPattern.MatchString(id) {
		id = uuid.NewString()
	}
	c.Header(requestIDHeader, id)
	c.Request = c.Request.WithContext(slogctx.With(c.Request.Context(), slog.String("request_id", id)))
	c.Next()
}

// observe counts a request and writes its line of the access log, with the whole error,
// which the client does not see.
func (s *Server) observe(m *metrics) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx, start := c.Request.Context(), time.Now()
		m.inFlight.Inc()
		defer func() {
			m.inFlight.Dec()
			took, status, route := time.Since(start), c.Writer.Status(), c.FullPath()
			if route == "" {
				route = "none"
			}
			stream := strings.HasPrefix(c.Writer.Header().Get("Content-Type"), sse.MediaType) || isGRPCStream(c)
			m.answered(knownMethod(c.Request.Method), route, status, took, stream)
			failure := c.Errors.Last()
			level := logLevel(route, status)
			if failure != nil && status < http.StatusBadRequest && !errors.Is(failure, errClientGone) && !errors.Is(failure, storage.ErrUnauthorized) {
				level = slog.LevelError // an aborted response
			}
			if !s.cfg.Log.Enabled(ctx, level) {
				return
			}
			attrs := []slog.Attr{
				slog.String("method", c.Request.Method),
				slog.String("path", c.Request.URL.Path),
				slog.Int("status", status),
				slog.Duration("took", took),
				slog.Int("bytes", max(c.Writer.Size(), 0)),
				slog.String("client", c.ClientIP()),
			}
			if user := c.GetString(userKey); user != "" {
				attrs = append(attrs, slog.String("user", user))
			}
			if code := c.Writer.Header().Get("Grpc-Status"); code != "" {
				attrs = append(attrs, slog.String("grpc_status", code))
			}
			if failure != nil {
				attrs = append(attrs, slog.Any("error", failure.Err))
			}
			s.cfg.Log.LogAttrs(ctx, level, "request", attrs...)
		}()
		c.Next()
	}
}

// knownMethod limits the values of the method label.
func knownMethod(method string) string {
	known := []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions, http.MethodPatch}
	if slices.Contains(known, method) {
		return method
	}
	return "other"
}

func logLevel(route string, status int) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case isProbe(route):
		return slog.LevelDebug
	}
	return slog.LevelInfo
}

// isProbe reports whether a route is for monitoring.
func isProbe(route string) bool {
	return route == "/healthz" || route == "/readyz" || route == "/metrics"
}

// recoverPanic answers a panic as an internal error.
func (s *Server) recoverPanic(c *gin.Context) {
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
		writeError(c, storage.Errorf(errBadRequest, "the request's headers are larger than %d bytes", maxHeaders))
		return
	}
	c.Next()
}

// setHeaders forbids caching and content sniffing of responses.
func setHeaders(c *gin.Context) {
	c.Header("Cache-Control", "no-store")
	c.Header("X-Content-Type-Options", "nosniff")
	c.Next()
}
