// Package rest is Parley's REST interface: its routes, the JSON of its requests
// and answers, and what every request passes through on its way, the A2A ones
// too: identity, limits, logs, metrics.
//
// It decides nothing about data. Who may do what is the store's word; this
// package says it in HTTP.
package rest

import (
	"context"
	"log/slog"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/cors"

	"parley/internal/auth"
	"parley/internal/fair"
	"parley/rest/page"
	"parley/storage"
)

// Authenticator says whom a token speaks for, and makes users' own tokens.
type Authenticator interface {
	Session(ctx context.Context, token string) (auth.Session, error)
	// EndRequests ends the requests of a token that was revoked.
	EndRequests(tokenID string)
	Issue(ctx context.Context, username string, expires time.Time) (string, storage.NewToken, error)
}

// Pinger can say whether it can be reached.
type Pinger interface {
	Ping(ctx context.Context) error
}

// Config is what the interface needs.
type Config struct {
	Store    storage.Store
	Auth     Authenticator
	Uploads  Uploads
	Lake     Lake
	Agents   Agents
	Feedback Feedback
	// Describer says what rows are.
	Describer Describer
	// Objects is the object store. It and Store must answer for the server to be
	// ready.
	Objects Pinger
	// Parts takes a part of an upload, where they come here; nil where they go
	// elsewhere.
	Parts func(w http.ResponseWriter, r *http.Request) error
	Log   *slog.Logger
	// Metrics is where the interface counts, and what /metrics shows.
	Metrics *prometheus.Registry
	// BaseURL is the public address of the interface; "" for the one that a
	// request came in on.
	BaseURL string
	// MaxBody is the most bytes of a JSON body.
	MaxBody int64
	// MaxRowsBody is the most bytes of a body that holds rows.
	MaxRowsBody int64
	// RequestTimeout is how long an answer may take to be found.
	RequestTimeout time.Duration
	// Reads is where large answers are counted while they are in memory.
	Reads *fair.Queue
	// QueueTimeout is how long a request that takes much waits for its user's turn; 20
	// seconds when 0.
	QueueTimeout time.Duration
	// RunTimeout is how long a request may wait for a run to end.
	RunTimeout time.Duration
	// WriteTimeout is how long a client may take to read a piece of an answer
	// that comes in pieces, or late.
	WriteTimeout time.Duration
	// TrustedProxies are the addresses and networks whose X-Forwarded headers
	// are believed.
	TrustedProxies []string
	// Page is what the page for people is told.
	Page page.Config
	// CORSOrigins are the origins whose pages may call the interface, "*" for
	// all.
	CORSOrigins []string
}

// GCPercent is how much garbage the server collects at once, against what it
// holds: that is little, and most of a request is garbage.
const GCPercent = 400

// Server answers requests.
type Server struct {
	cfg      Config
	handler  http.Handler
	engine   *gin.Engine
	proxies  []netip.Prefix
	draining atomic.Bool
	large    *fair.Queue
	infer    *fair.Queue
	loads    *fair.Queue
}

// New makes a Server.
func New(cfg Config) (*Server, error) {
	gin.SetMode(gin.ReleaseMode)
	s := &Server{cfg: cfg, engine: gin.New(), large: fair.New(largeQueue), infer: fair.New(inferQueue), loads: fair.New(loadQueue)}
	if s.cfg.QueueTimeout <= 0 {
		s.cfg.QueueTimeout = defaultQueueTimeout
	}
	var err error
	if s.proxies, err = parseProxies(cfg.TrustedProxies); err != nil {
		return nil, err
	}
	if err := s.engine.SetTrustedProxies(cfg.TrustedProxies); err != nil {
		return nil, err
	}
	s.engine.HandleMethodNotAllowed = true
	s.engine.RedirectTrailingSlash = false
	// Path values are unescaped by pathValue: gin would read '+' as a blank.
	s.engine.UseEscapedPath = true
	s.engine.UnescapePathValues = false
	s.engine.Use(drainBody, requestID, s.observe(newMetrics(cfg.Metrics)), s.recoverPanic, limitHeaders, setHeaders, s.setBaseURL)
	s.engine.NoRoute(s.answer(func(*gin.Context) error { return errNoRoute }))
	s.engine.NoMethod(s.answer(func(*gin.Context) error { return errMethodNotAllowed }))
	s.routes()
	if err := s.servePage(); err != nil {
		return nil, err
	}
	s.handler = s.engine
	if len(cfg.CORSOrigins) > 0 {
		s.handler = cors.New(cors.Options{
			AllowedOrigins: cfg.CORSOrigins,
			AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "X-Request-Id", "A2A-Version", "Last-Event-ID"},
			ExposedHeaders: []string{"X-Request-Id", "Retry-After", "ETag", "WWW-Authenticate"},
			MaxAge:         int((10 * time.Minute).Seconds()),
		}).Handler(s.engine)
	}
	return s, nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }
