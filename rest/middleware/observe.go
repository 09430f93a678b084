package middleware

import (
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"parley/internal/sse"
)

// userKey is the gin key of the authenticated user.
const userKey = "user"

// SetUser sets the authenticated user of a request, for the access log.
func SetUser(c *gin.Context, username string) { c.Set(userKey, username) }

// ObserveConfig has the dependencies of Observe.
type ObserveConfig struct {
	Log     *slog.Logger
	Metrics *prometheus.Registry
	// IsProbe reports whether a route is for monitoring: its requests are logged at level
	// debug.
	IsProbe func(route string) bool
	// IsStream reports whether a response other than server-sent events is a stream.
	IsStream func(c *gin.Context) bool
	// IsExpected reports whether an error that aborts a response is no fault of the server.
	IsExpected func(err error) bool
}

// Observe counts a request and writes its line of the access log, with the whole error,
// which the client does not see.
func Observe(cfg ObserveConfig) gin.HandlerFunc {
	m := newMetrics(cfg.Metrics)
	return func(c *gin.Context) {
		ctx, start := c.Request.Context(), time.Now()
		m.inFlight.Inc()
		defer func() {
			m.inFlight.Dec()
			took, status, route := time.Since(start), c.Writer.Status(), c.FullPath()
			if route == "" {
				route = "none"
			}
			stream := strings.HasPrefix(c.Writer.Header().Get("Content-Type"), sse.MediaType) || cfg.IsStream(c)
			m.answered(knownMethod(c.Request.Method), route, status, took, stream)
			failure := c.Errors.Last()
			level := logLevel(status, cfg.IsProbe(route))
			if failure != nil && status < http.StatusBadRequest && !cfg.IsExpected(failure) {
				level = slog.LevelError // an aborted response
			}
			if !cfg.Log.Enabled(ctx, level) {
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
			cfg.Log.LogAttrs(ctx, level, "request", attrs...)
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

func logLevel(status int, probe bool) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelError
	case probe:
		return slog.LevelDebug
	}
	return slog.LevelInfo
}
