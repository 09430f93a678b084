package rest

import (
	"cmp"
	"time"

	"parley/storage"
)

type savedQueryJSON struct {
	ID       string    `json:"id"`
	Title    string    `json:"title,omitempty"`
	Question string    `json:"question"`
	Query    string    `json:"query"`
	SavedBy  string    `json:"savedBy"`
	SavedAt  time.Time `json:"savedAt"`
}

func toSavedQuery(q storage.SavedQuery) savedQueryJSON {
	return savedQueryJSON{ID: q.ID, Title: q.Title, Question: q.Question, Query: q.Query, SavedBy: q.SavedBy, SavedAt: q.SavedAt}
}

type savedQueriesJSON struct {
	// Access is what the caller may do to the namespace.
	Access  storage.Role     `json:"access"`
	Queries []savedQueryJSON `json:"queries"`
}

// The operations on saved queries are the same for verified and pinned ones.

func (s *Server) getSaved(kind storage.SavedKind) operation {
	return on((*request).namespace, func(r *request, in storage.NamespaceRef) (any, error) {
		saved, access, err := s.cfg.Store.SavedQueries(r.ctx(), r.caller, in, kind)
		return savedQueriesJSON{Access: cmp.Or(access.Strongest(), storage.Viewer), Queries: toList(saved, toSavedQuery)}, err
	})
}

// save saves a query that the caller may run.
func (s *Server) save(kind storage.SavedKind) operation {
	return on((*request).namespace, func(r *request, in storage.NamespaceRef) (any, error) {
		f := r.fields(s.cfg.MaxBody)
		query := storage.SavedQuery{ID: storage.NewID(), Question: f.text("question", storage.CheckQuestion), Query: f.text("query", notEmpty(storage.MaxQuery))}
		if kind == storage.PinnedQuery {
			query.Title = f.optionalText("title", storage.Truncate(query.Question, storage.MaxQueryTitle), notEmpty(storage.MaxQueryTitle))
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		var err error
		if query.Datasets, err = s.cfg.Lake.QueryDatasets(r.ctx(), r.caller, in, query.Query); err != nil {
			return nil, err
		}
		return createdID{ID: query.ID}, s.cfg.Store.SaveQuery(r.ctx(), r.caller, in, kind, query)
	})
}

func (s *Server) deleteSaved(kind storage.SavedKind) operation {
	return on((*request).namespace, func(r *request, in storage.NamespaceRef) (any, error) {
		id := pathID("queryId")(r)
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, s.cfg.Store.DeleteSavedQuery(r.ctx(), r.caller, in, kind, id)
	})
}
