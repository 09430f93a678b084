package rest

import (
	"cmp"
	"fmt"
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
	// Wide and Watch are those of a pinned query.
	Wide  bool       `json:"wide,omitempty"`
	Watch *watchJSON `json:"watch,omitempty"`
}

type watchJSON struct {
	// At is the time of the day, in UTC; "" for each change of the data.
	At             string     `json:"at,omitempty"`
	Webhook        string     `json:"webhook,omitempty"`
	AskedAt        *time.Time `json:"askedAt,omitempty"`
	Change         string     `json:"change,omitempty"`
	ChangedAt      *time.Time `json:"changedAt,omitempty"`
	ConversationID string     `json:"conversationId,omitempty"`
	Problem        string     `json:"problem,omitempty"`
}

func toSavedQuery(q domain.SavedQuery) savedQueryJSON {
	return savedQueryJSON{ID: q.ID, Title: q.Title, Question: q.Question, Query: q.Query, SavedBy: q.SavedBy, SavedAt: q.SavedAt, Wide: q.Wide, Watch: toWatch(q.Watch)}
}

func toWatch(w *domain.Watch) *watchJSON {
	if w == nil {
		return nil
	}
	shown := &watchJSON{Change: w.Change, Problem: w.Problem}
	if w.DailyAt != nil {
		shown.At = fmt.Sprintf("%02d:%02d", *w.DailyAt/60, *w.DailyAt%60)
	}
	if w.Push != nil {
		shown.Webhook = w.Push.URL
	}
	if !w.AskedAt.IsZero() {
		shown.AskedAt = &w.AskedAt
	}
	if !w.ChangedAt.IsZero() {
		shown.ChangedAt, shown.ConversationID = &w.ChangedAt, w.ConversationID
	}
	return shown
}

type savedQueriesJSON struct {
	// Access is what the caller may do to the namespace.
	Access  domain.Role      `json:"access"`
	Queries []savedQueryJSON `json:"queries"`
	// DataChangedAt is when data of the namespace of a board was last changed.
	DataChangedAt *time.Time `json:"dataChangedAt,omitempty"`
}

// The operations on saved queries are the same for verified and pinned ones.

func (s *Server) getSaved(kind domain.SavedKind) operation {
	return on((*request).namespace, func(r *request, in domain.NamespaceRef) (any, error) {
		saved, access, err := s.cfg.Store.SavedQueries(r.ctx(), r.caller, in, kind)
		list := savedQueriesJSON{Access: cmp.Or(access.Strongest(), domain.Viewer), Queries: toList(saved, toSavedQuery)}
		if err == nil && kind == domain.PinnedQuery {
			var at time.Time
			if at, err = s.cfg.Store.DataChangedAt(r.ctx(), r.caller, in); at.Unix() > 0 {
				list.DataChangedAt = &at
			}
		}
		return list, err
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

// changePin changes the title, the width or the place of a pinned query.
func (s *Server) changePin() operation {
	return on((*request).namespace, func(r *request, in domain.NamespaceRef) (any, error) {
		id, f := pathID("queryId")(r), r.fields(s.cfg.MaxBody)
		var change domain.PinChange
		if f.has("title") {
			change.Title = new(f.text("title", notBlank(domain.MaxQueryTitle)))
		}
		if f.has("wide") {
			if wide, ok := decode[bool](f, "wide", "true or false"); ok {
				change.Wide = &wide
			}
		}
		if f.has("place") {
			place, ok := f.integer("place")
			if ok && place < 0 {
				f.check("place", "must not be negative")
			}
			change.Place = new(int(min(place, int64(domain.PinnedQuery.Limit()))))
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, s.cfg.Store.ChangePin(r.ctx(), r.caller, in, id, change)
	})
}

// watch has a pinned query asked again for the caller.
func (s *Server) watch() operation {
	return on((*request).namespace, func(r *request, in domain.NamespaceRef) (any, error) {
		id, f := pathID("queryId")(r), r.fields(s.cfg.MaxBody)
		var watch domain.Watch
		if f.has("at") {
			text := f.text("at", notEmpty(5))
			at, err := time.Parse("15:04", text)
			if err != nil || at.Format("15:04") != text {
				f.check("at", "must be a time of the day in UTC, such as 08:00")
			}
			watch.DailyAt = new(at.Hour()*60 + at.Minute())
		}
		address, token := f.optionalText("webhook", "", notEmpty(domain.MaxQueryTitle*10)), f.optionalText("token", "", notEmpty(domain.MaxQueryTitle*10))
		if token != "" && address == "" {
			f.check("token", "is for a webhook")
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		if address != "" {
			config, err := s.cfg.Agents.PushTo(r.caller, id, address, token)
			if err != nil {
				return nil, err
			}
			watch.Push = &config
		}
		query, err := s.cfg.Store.MayWatch(r.ctx(), r.caller, in, id)
		if err != nil {
			return nil, err
		}
		found, err := s.cfg.Watch(r.ctx(), r.caller, in, query)
		if err != nil {
			return nil, err
		}
		return nil, s.cfg.Store.SetWatch(r.ctx(), r.caller, id, watch, found)
	})
}

// unwatch ends what watch began.
func (s *Server) unwatch() operation {
	return on((*request).namespace, func(r *request, _ domain.NamespaceRef) (any, error) {
		id := pathID("queryId")(r)
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, s.cfg.Store.DeleteWatch(r.ctx(), r.caller, id)
	})
}
