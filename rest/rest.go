// Package rest is Parley's REST interface: its routes, the JSON of its requests and
// responses, and the middleware of every request, those of A2A included: authentication,
// limits, logs, metrics.
//
// It decides nothing about data. The store decides who may do what; this package
// translates it to HTTP.
package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/cors"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/fair"
	"parley/rest/mcp"
	"parley/rest/middleware"
	"parley/rest/page"
	"parley/storage/sqlstore"
	"parley/storage/uploads"
)

// Config has the dependencies and settings of a Server.
type Config struct {
	Store    *sqlstore.Store
	Auth     *auth.Authenticator
	Uploads  *uploads.Sessions
	Datasets Datasets
	Agents   Agents
	// Chart returns a Vega-Lite specification of the rows that answer a question, nil if no
	// chart helps, and the units of their numbers by column.
	Chart func(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, question string, result domain.QueryResult) (map[string]any, map[string]string)
	// Rate stores the rating of a completed run: domain.ErrRunNotCompleted for others,
	// domain.ErrTracing when the tracing service refuses it.
	Rate func(ctx context.Context, caller domain.Caller, rating domain.Rating) error
	// Models are the models that answer questions, the default first.
	Models []Model
	// Describe describes a dataset and its fields from sample rows, starting from the
	// current descriptions. ErrUnavailable when the model is.
	Describe func(ctx context.Context, sample []json.RawMessage, current domain.Definition, provider, model string) (domain.Definition, error)
	// Watch returns the result of a pinned query, from which the first change is known.
	Watch func(ctx context.Context, caller domain.Caller, in domain.NamespaceRef, query domain.SavedQuery) (json.RawMessage, error)
	// CheckModel returns the errors of the fields provider and model, which may be "": they
	// name no configured model.
	CheckModel func(provider, model string) []domain.FieldError
	// PingObjects reports whether the object store is available. The server is ready when it
	// and Store are.
	PingObjects func(ctx context.Context) error
	// Parts receives upload parts; nil when clients send them to a bucket.
	Parts func(w http.ResponseWriter, r *http.Request) error
	Log   *slog.Logger
	// SignReceipt signs a receipt, a JSON document, and CheckReceipt verifies that this server did.
	SignReceipt  func(ctx context.Context, document []byte) ([]byte, error)
	CheckReceipt func(document []byte) error
	// Metrics is the registry that /metrics serves.
	Metrics *prometheus.Registry
	// BaseURL is the public URL of the interface; "" to take it from each request.
	BaseURL string
	// MaxBody limits a JSON body, in bytes.
	MaxBody int64
	// MaxAgentBody limits a body with a message to an agent, which may have attachments, in
	// bytes; at least MaxBody.
	MaxAgentBody int64
	// MaxRowsBody limits a body with rows, in bytes.
	MaxRowsBody int64
	// RequestTimeout limits the handling of a request.
	RequestTimeout time.Duration
	// Room refuses what would store a record of a user for which the disk has no room; nil for no
	// limit.
	Room func(ctx context.Context, owner string) error
	// Reads limits the memory of large responses.
	Reads *fair.Queue
	// Short limits the short requests of a user that are handled at a time.
	Short *fair.Queue
	// RunTimeout is how long a request may wait for a run to end.
	RunTimeout time.Duration
	// WriteTimeout is how long a client may take to read a chunk of a stream or of a large
	// response.
	WriteTimeout time.Duration
	// TrustedProxies are the addresses and networks whose Forwarded and X-Forwarded headers are
	// used.
	TrustedProxies []string
	// Version is the version of the program.
	Version string
	// Page configures the web page.
	Page page.Config
	// CORSOrigins are the origins whose pages may call the interface, "*" for all.
	CORSOrigins []string
}

// Server handles requests.
type Server struct {
	cfg      Config
	handler  http.Handler
	cors     *cors.Cors // nil without origins
	engine   *gin.Engine
	mcp      *mcp.Server
	proxies  baseurl.Proxies
	draining atomic.Bool
	bodies   *fair.Queue
	large    *fair.Queue
	infer    *fair.Queue
	loads    *fair.Queue
	decodes  *fair.Queue
	// open counts the open requests of users, and openPublic those of addresses without a token.
	open, openPublic fair.Counter
	// downloads are those of whole datasets, results those of all rows of a query.
	downloads, results *fair.Queue
	// queueTimeout is how long a large request waits for a slot.
	queueTimeout time.Duration
}

// New returns a Server.
func New(cfg Config) (*Server, error) {
	gin.SetMode(gin.ReleaseMode)
	cfg.BaseURL = baseurl.Normalize(cfg.BaseURL)
	cfg.MaxAgentBody = max(cfg.MaxAgentBody, cfg.MaxBody)
	s := &Server{cfg: cfg, engine: gin.New(), bodies: fair.New(bodyQueue), large: fair.New(largeQueue), infer: fair.New(inferQueue), loads: fair.New(loadQueue), decodes: fair.New(decodeQueue()), downloads: fair.New(downloadQueue), results: fair.New(downloadQueue), queueTimeout: queueTimeout}
	var err error
	if s.proxies, err = baseurl.ParseProxies(cfg.TrustedProxies); err != nil {
		return nil, err
	}
	if err := s.engine.SetTrustedProxies(cfg.TrustedProxies); err != nil {
		return nil, err
	}
	s.engine.RemoteIPHeaders = []string{"X-Forwarded-For"} // which proxies are told to set
	s.engine.HandleMethodNotAllowed = true
	s.engine.RedirectTrailingSlash = false
	// Path values are unescaped by pathValue: gin would read '+' as a blank.
	s.engine.UseEscapedPath = true
	s.engine.UnescapePathValues = false
	s.engine.Use(middleware.DrainBody, middleware.RequestID, s.observe(), recoverPanic, limitHeaders, middleware.SetHeaders, s.setContext)
	s.engine.NoRoute(s.answer(func(*gin.Context) error { return errNoRoute }))
	s.engine.NoMethod(s.answer(func(*gin.Context) error { return errMethodNotAllowed }))
	s.mcp = s.newMCP()
	s.routes()
	if err := s.servePage(); err != nil {
		return nil, err
	}
	s.handler = s.engine
	if len(cfg.CORSOrigins) > 0 {
		s.cors = cors.New(cors.Options{
			AllowedOrigins: cfg.CORSOrigins,
			AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
			AllowedHeaders: []string{"Authorization", "Content-Type", "X-Request-Id", "A2A-Version", "A2A-Extensions", "Last-Event-ID", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"},
			ExposedHeaders: []string{"X-Request-Id", "Retry-After", "ETag", "Content-Disposition", "WWW-Authenticate", "A2A-Version", "A2A-Extensions"},
			MaxAge:         int((10 * time.Minute).Seconds()),
		})
		s.handler = s.cors.Handler(s.engine)
	}
	return s, nil
}

// servePage routes the web page, which is public: its files are the same for everybody.
func (s *Server) servePage() error {
	files, err := page.New(s.cfg.Page)
	if err != nil {
		return err
	}
	for _, path := range files.Paths() {
		s.public(http.MethodGet, path, serveHandler(files))
		s.public(http.MethodHead, path, serveHandler(files))
	}
	return nil
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// readyTimeout limits the checks of /readyz.
const readyTimeout = 2 * time.Second

// Drain makes /readyz report not ready, so that load balancers stop sending requests; the
// server still handles those that come.
func (s *Server) Drain() { s.draining.Store(true) }

func (s *Server) getHealth(c *gin.Context) error {
	c.PureJSON(http.StatusOK, gin.H{"status": "ok"})
	return nil
}

func (s *Server) getReady(c *gin.Context) error {
	if s.draining.Load() {
		return domain.Errorf(domain.ErrUnavailable, "shutting down")
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	for _, needed := range []struct {
		name string
		ping func(ctx context.Context) error
	}{{"database", s.cfg.Store.Ping}, {"object store", s.cfg.PingObjects}} {
		if err := needed.ping(ctx); err != nil {
			return fmt.Errorf("%w: %w", domain.Errorf(domain.ErrUnavailable, "the %s cannot be reached now", needed.name), err)
		}
	}
	c.PureJSON(http.StatusOK, gin.H{"status": "ready"})
	return nil
}
