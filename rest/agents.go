package rest

import (
	"context"
	"iter"
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// The agents, by the names that they have in paths, bodies and records.
const (
	agentAssistant = "assistant"
	agentNL2QL     = "nl2ql"
)

// Agents answers questions, and speaks A2A.
type Agents interface {
	// Ask starts a run, which goes on when ctx ends. A namespace that the caller
	// may not see is ErrNotFound, and so is a conversation that is named and was
	// not begun; what is wrong with the question is ErrInvalid.
	Ask(ctx context.Context, caller storage.Caller, question storage.Question) (storage.RunRequest, error)
	// Follow tells all that a run has come to, from its first event on, and what
	// it comes to, until it ends; one that fails is told of as RunHasFailed. From
	// time to time it gives a Progress without a kind, which says only that the
	// run goes on. When Follow has ended without an error, so has the run, and the
	// store knows its result.
	Follow(ctx context.Context, caller storage.Caller, runID string) iter.Seq2[storage.Progress, error]

	// Stop ends a run that is about to be deleted, if it goes on. ErrNotFound when
	// there is none.
	Stop(ctx context.Context, caller storage.Caller, runID string) error

	// Call answers a JSON-RPC request to an agent, of which body is all there is
	// and r.Body nothing. The writer's deadlines are seen to. An error is
	// returned only for what is to be answered without JSON-RPC, such as
	// ErrNotFound for an agent that there is not, or when the answer broke off.
	Call(w http.ResponseWriter, r *http.Request, caller storage.Caller, agent string, body []byte) error
	// ServeCatalog answers with a list of the agents.
	ServeCatalog(w http.ResponseWriter, r *http.Request) error
	// ServeCard answers with an agent's card. ErrNotFound when there is no such
	// agent.
	ServeCard(w http.ResponseWriter, r *http.Request, agent string) error
}

func (s *Server) getCatalog(c *gin.Context) error {
	return s.cfg.Agents.ServeCatalog(c.Writer, c.Request)
}

func (s *Server) getCard(c *gin.Context) error {
	return s.cfg.Agents.ServeCard(c.Writer, c.Request, pathValue(c, "agent"))
}

func (s *Server) callAgent(c *gin.Context, caller storage.Caller) error {
	body, err := readBytes(c, s.cfg.MaxBody, "application/json", isJSON)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(c)()
	return s.cfg.Agents.Call(c.Writer, c.Request, caller, pathValue(c, "agent"), body)
}
