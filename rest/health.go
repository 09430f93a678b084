package rest

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

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
		return storage.Errorf(storage.ErrUnavailable, "shutting down")
	}
	ctx, cancel := context.WithTimeout(c.Request.Context(), readyTimeout)
	defer cancel()
	for _, needed := range []struct {
		name string
		Pinger
	}{{"database", s.cfg.Store}, {"object store", s.cfg.Objects}} {
		if err := needed.Ping(ctx); err != nil {
			return fmt.Errorf("%w: %w", storage.Errorf(storage.ErrUnavailable, "the %s cannot be reached now", needed.name), err)
		}
	}
	c.PureJSON(http.StatusOK, gin.H{"status": "ready"})
	return nil
}
