package rest

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/internal/fair"
	"parley/storage"
)

var (
	// largeTurns are for requests that bring up to MaxRowsBody, or take as much for
	// their answers: 16 MiB each, some times over while they are read and written.
	largeTurns = fair.Config{What: "large requests", Places: 16, PlacesEach: 4, Waiting: 256, WaitingEach: 64}
	// inferTurns are for requests that wait for a model, or answer with a preview.
	inferTurns = fair.Config{What: "questions about data", Places: 32, PlacesEach: 4, Waiting: 256, WaitingEach: 64}
	// loadTurns are for reads of large results from the database, which take a
	// processor each, and a connection of the embedded database, which has 8: one user
	// has one at a time, however slow clients are. Nobody is refused.
	loadTurns = fair.Config{What: "large answers", Places: 4, PlacesEach: 1}
)

const (
	defaultTurnWait = 20 * time.Second
	// turnRead is how long the body may take to come in when the turn is there.
	turnRead = time.Minute
)

// inTurn has an operation wait for a turn of the caller's. Its body is not read
// before, so that those who wait take next to nothing.
func (s *Server) inTurn(line *fair.Line, operation func(c *gin.Context, caller storage.Caller) error) func(c *gin.Context, caller storage.Caller) error {
	return func(c *gin.Context, caller storage.Caller) error {
		turn, err := line.Join(caller.Username)
		if err != nil {
			return err
		}
		if err := turn.WaitFor(c.Request.Context(), s.cfg.TurnWait); err != nil {
			return err
		}
		defer turn.Leave()
		// Not every connection can; then the server's own limit has to do.
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(turnRead))
		return operation(c, caller)
	}
}

// reserve waits until the caller has few enough large answers in memory for one
// more, of that size. An answer that has begun is not refused: it waits for as long
// as its client does.
func (s *Server) reserve(c *gin.Context, caller storage.Caller, bytes int) (release func(), err error) {
	ctx := c.Request.Context()
	if c.Writer.Written() {
		place := s.cfg.Reads.RejoinFor(caller.Username, bytes)
		return place.Leave, place.Wait(ctx)
	}
	place, err := s.cfg.Reads.JoinFor(caller.Username, bytes)
	if err != nil {
		return nil, err
	}
	return place.Leave, place.WaitFor(ctx, s.cfg.TurnWait)
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
		turn := s.loads.Rejoin(caller.Username)
		if err := turn.Wait(c.Request.Context()); err != nil {
			return storage.Run{}, err
		}
		defer turn.Leave()
	}
	return s.cfg.Store.Run(c.Request.Context(), caller, id)
}

// Turns says how many large requests, and questions about data, are answered or
// wait for that.
func (s *Server) Turns() (large, infer fair.Stats) { return s.large.Stats(), s.infer.Stats() }
