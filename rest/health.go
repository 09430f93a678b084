package rest

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// readyTimeout is how long the store may take to show that it is there.
const readyTimeout = 2 * time.Second

// Drain makes the server answer that it is not ready, so that no more requests
// are sent to it, while it goes on to serve those that are.
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
