package rest

import (
	"cmp"
	"time"

	"parley/internal/domain"
)

type savedQueryJSON struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Question string    `json:"question"`
	Query    string    `json:"query"`
	SavedBy  string    `json:"savedBy"`
	SavedAt  time.Time `json:"savedAt"`
}

func toSavedQuery(q domain.SavedQuery) savedQueryJSON {
	return savedQueryJSON{ID: q.ID, Title: q.Title, Question: q.Question, Query: q.Query, SavedBy: q.SavedBy, SavedAt: q.SavedAt}
}

type savedQueriesJSON struct {
	// Access is what the caller may do to the namespace.
	Access  domain.Role      `json:"access"`
	Queries []savedQueryJSON `json:"queries"`
}

// The operations on saved queries are the same for verified and pinned ones.

func (s *Server) getSaved(kind domain.SavedKind) operation {
	return on((*request).namespace, func(r *request, in domain.NamespaceRef) (any, error) {
		saved, access, err := s.cfg.Store.SavedQueries(r.ctx(), r.caller, in, kind)
		return savedQueriesJSON{Access: cmp.Or(access.Strongest(), domain.Viewer), Queries: toList(saved, toSavedQuery)}, err
	})
}

// save saves a query that the caller may run.
func (s *Server) save(kind domain.SavedKind) operation {
	return on((*request).namespace, func(r *request, in domain.NamespaceRef) (any, error) {
		f := r.fields(s.cfg.MaxBody)
		query := domain.SavedQuery{ID: domain.NewID(), Question: f.text("question", domain.CheckQuestion), Query: f.text("query", notEmpty(domain.MaxQuery))}
		if kind == domain.PinnedQuery {
			query.Title = f.optionalText("title", domain.Truncate(query.Question, domain.MaxQueryTitle), notEmpty(domain.MaxQueryTitle))
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		var err error
		if query.Datasets, err = s.cfg.Datasets.QueryDatasets(r.ctx(), r.caller, in, query.Query); err != nil {
			return nil, err
		}
		return createdID{ID: query.ID}, s.cfg.Store.SaveQuery(r.ctx(), r.caller, in, kind, query)
	})
}

func (s *Server) deleteSaved(kind domain.SavedKind) operation {
	return on((*request).namespace, func(r *request, in domain.NamespaceRef) (any, error) {
		id := pathID("queryId")(r)
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, s.cfg.Store.DeleteSavedQuery(r.ctx(), r.caller, in, kind, id)
	})
}
