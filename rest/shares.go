package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"parley/internal/domain"
)

type grantJSON struct {
	Username string      `json:"username"`
	Role     domain.Role `json:"role"`
}

// The operations on grants are the same for namespaces and datasets: read gets the one of
// the path.

func getShares[T any](read func(*request) T, grants func(context.Context, domain.Caller, T) ([]domain.Grant, error)) operation {
	return on(read, func(r *request, ref T) (any, error) {
		list, err := grants(r.ctx(), r.caller, ref)
		return toList(list, func(g domain.Grant) grantJSON { return grantJSON(g) }), err
	})
}

func share[T any](s *Server, read func(*request) T, share func(context.Context, domain.Caller, T, domain.Grant) error) operation {
	return on(read, func(r *request, ref T) (any, error) {
		grant := s.readGrant(r)
		if r.err() == nil && grant.Username == r.caller.Username {
			r.check("username", "must be another user: nothing is shared with oneself")
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, share(r.ctx(), r.caller, ref, grant)
	})
}

func revokeShare[T any](s *Server, read func(*request) T, revoke func(context.Context, domain.Caller, T, string) error) operation {
	return on(read, func(r *request, ref T) (any, error) {
		grant := s.readGrant(r)
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, revoke(r.ctx(), r.caller, ref, grant.Username)
	})
}

func (s *Server) readGrant(r *request) domain.Grant {
	f := r.fields(s.cfg.MaxBody)
	return domain.Grant{Username: f.grantee("username"), Role: domain.Role(f.text("role", oneOf(domain.Viewer, domain.Editor)))}
}

type sharedRunJSON struct {
	ID        string          `json:"id"`
	AskedBy   string          `json:"askedBy"`
	Owner     string          `json:"username"`
	Namespace string          `json:"namespace"`
	AgentKind string          `json:"agentKind"`
	Question  string          `json:"question"`
	SharedAt  time.Time       `json:"sharedAt"`
	Result    json.RawMessage `json:"result"`
}

// shareRun makes a link to a run for those who may read what its queries read and what its
// texts name: an answer can name other readings of the question.
func (s *Server) shareRun(r *request, id string) (any, error) {
	in, err := s.cfg.Store.SharableRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	run, release, err := s.readRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	defer release()
	var result struct {
		Response string
		Steps    []struct{ Instruction, Query, Reasoning string }
	}
	if err := json.Unmarshal(run.Result, &result); err != nil {
		return nil, fmt.Errorf("read the result of run %s: %w", id, err)
	}
	var queries []string
	text := result.Response
	for _, step := range result.Steps {
		queries = append(queries, step.Query)
		text += "\n" + step.Instruction + "\n" + step.Reasoning
	}
	datasets, err := s.cfg.Datasets.QueryDatasets(r.ctx(), r.caller, in, queries...)
	if errors.Is(err, domain.ErrInvalid) { // what it read cannot be told from its queries
		return nil, domain.Errorf(domain.ErrInvalid, "this answer cannot be shared: it has a step without a query that can be run now; ask the question again")
	}
	if err != nil {
		return nil, err
	}
	named, err := s.cfg.Datasets.NamedDatasets(r.ctx(), r.caller, in, text, datasets)
	if err != nil {
		return nil, err
	}
	share, err := s.cfg.Store.ShareRun(r.ctx(), r.caller, id, datasets, named)
	return createdID{ID: share}, err
}

type runShareJSON struct {
	ID *string `json:"id"`
}

func (s *Server) getRunShare(r *request, id string) (any, error) {
	share, err := s.cfg.Store.RunShare(r.ctx(), r.caller, id)
	if share == "" {
		return runShareJSON{}, err
	}
	return runShareJSON{&share}, err
}

func (s *Server) getShared(r *request, id string) (any, error) {
	shared, err := s.cfg.Store.SharedRun(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	release, err := s.reserve(r, shared.ResultBytes)
	if err != nil {
		return nil, err
	}
	defer release()
	result, err := s.cfg.Store.SharedResult(r.ctx(), r.caller, id)
	if err != nil {
		return nil, err
	}
	r.endShort()
	r.PureJSON(http.StatusOK, sharedRunJSON{ // while its memory is reserved
		ID: shared.ID, AskedBy: shared.AskedBy, Owner: shared.Namespace.Owner, Namespace: shared.Namespace.Name,
		AgentKind: shared.Agent, Question: shared.Question, SharedAt: shared.SharedAt, Result: result,
	})
	return nil, nil
}
