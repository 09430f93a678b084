package rest

import (
	"errors"
	"fmt"
	"net/http"

	"parley/internal/auth"
	"parley/internal/domain"
	"parley/rest/mcp"
)

// newMCP returns the server of MCP, whose tools are the operations of this one.
func (s *Server) newMCP() *mcp.Server {
	return mcp.New(mcp.Config{
		Store: s.cfg.Store, Data: s.cfg.Datasets, Agents: s.cfg.Agents, Agent: agentAssistant, Run: s.readRun, Short: s.cfg.Short,
		Rate: s.cfg.Rate,
		Explain: func(err error) (code, message string, internal bool) {
			status, body := toErrorResponse(err)
			return body.ErrorCode, body.Message, status == http.StatusInternalServerError
		},
		Timeout: s.cfg.RequestTimeout, Version: s.cfg.Version, Log: s.cfg.Log,
	})
}

// maxMCPBody is enough for a long question and a long query; it is decoded at once.
const maxMCPBody = 128 << 10

// callMCP answers a request of MCP.
func (s *Server) callMCP(r *request) error {
	if !ofThisSite(r.Context) && (s.cors == nil || !s.cors.OriginAllowed(r.Request)) {
		return domain.Errorf(domain.ErrForbidden, "pages of other origins call this only if --cors-origins names them")
	}
	body, err := readBytes(r.Context, maxMCPBody, mediaJSON)
	if err != nil {
		return err
	}
	defer s.extendDeadlines(r.Context)()
	err = s.mcp.Serve(r.Writer, r.Request.WithContext(auth.WithCaller(r.ctx(), r.caller)), body)
	if errors.Is(err, domain.ErrInvalid) {
		err = fmt.Errorf("%w: %w", errBadRequest, err)
	}
	return err
}
