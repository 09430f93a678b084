package rest

import (
	"parley/internal/domain"
)

type linksJSON struct {
	Links     []linkJSON `json:"links"`
	Suggested []linkJSON `json:"suggested"`
}

// linkJSON is a link with what it has come to, null where that is not known.
type linkJSON struct {
	Columns     []string            `json:"columns"`
	Dataset     string              `json:"dataset"`
	ToColumns   []string            `json:"toColumns"`
	Label       *string             `json:"label"`
	Cardinality *domain.Cardinality `json:"cardinality"`
	Hits        *int64              `json:"hits"`
	Orphans     *int64              `json:"orphans"`
	Declared    bool                `json:"declared"`
	// Problem says why a declared link cannot be used.
	Problem string `json:"problem,omitempty"`
}

func toLink(l domain.MeasuredLink) linkJSON {
	link := linkJSON{Columns: l.Columns, Dataset: l.To, ToColumns: l.ToColumns, Label: orNull(l.Label), Declared: l.Declared, Problem: l.Problem}
	if m := l.Measure; m != nil {
		hits := m.Rows - m.Orphans
		link.Cardinality, link.Hits, link.Orphans = &m.Cardinality, &hits, &m.Orphans
	}
	return link
}

func (s *Server) getLinks(r *request, ref domain.DatasetRef) (any, error) {
	declared, suggested, err := s.cfg.Datasets.Links(r.ctx(), r.caller, ref)
	return linksJSON{Links: toList(declared, toLink), Suggested: toList(suggested, toLink)}, err
}

func (s *Server) putLinks(r *request, ref domain.DatasetRef) (any, error) {
	links := list(r.fields(s.cfg.MaxBody), "links", 0, "", func(f fields) domain.Link {
		l := domain.Link{From: ref.Name, To: f.text("dataset", anyText), Label: f.optionalText("label", "", anyText)}
		l.Columns, _ = decode[[]string](f, "columns", "a list of strings")
		l.ToColumns, _ = decode[[]string](f, "toColumns", "a list of strings")
		return l
	})
	if len(r.wrong) == 0 {
		r.wrong = domain.CheckLinks(links)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.SetLinks(r.ctx(), r.caller, ref, links)
}
