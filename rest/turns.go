package rest

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/fair"
	"parley/storage"
)

var (
	// largeQueue are for requests that bring up to MaxRowsBody, or take as much for
	// their answers: 16 MiB each, some times over while they are read and written.
	largeQueue = fair.Config{What: "large requests", Slots: 16, SlotsPerUser: 4, MaxQueued: 256, MaxQueuedPerUser: 64}
	// inferQueue are for requests that wait for a model, or answer with a preview.
	inferQueue = fair.Config{What: "questions about data", Slots: 32, SlotsPerUser: 4, MaxQueued: 256, MaxQueuedPerUser: 64}
	// loadQueue are for reads of large results from the database, which take a
	// processor each, and a connection of the embedded database, which has 8: one user
	// has one at a time, however slow clients are. Nobody is refused.
	loadQueue = fair.Config{What: "large answers", Slots: 4, SlotsPerUser: 1}
)

const (
	defaultQueueTimeout = 20 * time.Second
	// queuedReadTimeout is how long the body may take to come in when the turn is there.
	queuedReadTimeout = time.Minute
)

// queued has an operation wait for a turn of the caller's. Its body is not read
// before, so that those who wait take next to nothing.
func (s *Server) queued(line *fair.Queue, operation func(c *gin.Context, caller storage.Caller) error) func(c *gin.Context, caller storage.Caller) error {
	return func(c *gin.Context, caller storage.Caller) error {
		turn, err := line.Acquire(caller.Username)
		if err != nil {
			return err
		}
		if err := turn.WaitTimeout(c.Request.Context(), s.cfg.QueueTimeout); err != nil {
			return err
		}
		defer turn.Release()
		// Not every connection can; then the server's own limit has to do.
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(queuedReadTimeout))
		return operation(c, caller)
	}
}

// reserve waits until the caller has few enough large answers in memory for one
// more, of that size. An answer that has begun is not refused: it waits for as long
// as its client does.
func (s *Server) reserve(c *gin.Context, caller storage.Caller, bytes int) (release func(), err error) {
	ctx := c.Request.Context()
	if c.Writer.Written() {
		place := s.cfg.Reads.AcquireUnboundedN(caller.Username, bytes)
		return place.Release, place.Wait(ctx)
	}
	place, err := s.cfg.Reads.AcquireN(caller.Username, bytes)
	if err != nil {
		return nil, err
	}
	return place.Release, place.WaitTimeout(ctx, s.cfg.QueueTimeout)
}

// readRun reads a run, whose result is counted until release.
func (s *Server) readRun(c *gin.Context, caller storage.Caller, id string) (run storage.Run, release func(), err error) {
	bytes, err := s.cfg.Store.ResultBytes(c.Request.Context(), caller, id)
	if err != nil {
		return run, nil, err
	}
	if release, err = s.reserve(c, caller, bytes); err != nil {
		return run, nil, err
	}
	if run, err = s.load(c, caller, id, bytes); err != nil {
		release()
	}
	return run, release, err
}

// load reads a run, whose result is of that size, in the caller's turn.
func (s *Server) load(c *gin.Context, caller storage.Caller, id string, bytes int) (storage.Run, error) {
	if bytes > storage.InlineResult {
		turn := s.loads.AcquireUnbounded(caller.Username)
		if err := turn.Wait(c.Request.Context()); err != nil {
			return storage.Run{}, err
		}
		defer turn.Release()
	}
	return s.cfg.Store.Run(c.Request.Context(), caller, id)
}

// QueueStats says how many large requests, and questions about data, are answered or
// wait for that.
func (s *Server) QueueStats() (large, infer fair.Stats) { return s.large.Stats(), s.infer.Stats() }
