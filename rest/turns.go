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
		if err := turn.WaitFor(c.Request.Context(), s.TurnWait); err != nil {
			return err
		}
		defer turn.Leave()
		// Not every connection can; then the server's own limit has to do.
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(turnRead))
		return operation(c, caller)
	}
}

// Turns says how many large requests, and questions about data, are answered or
// wait for that.
func (s *Server) Turns() (large, infer fair.Stats) { return s.large.Stats(), s.infer.Stats() }
