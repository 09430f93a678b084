package rest

import (
	"encoding/json"
	"fmt"

	"parley/internal/domain"
)

// maxSample limits the rows of a sample or a preview.
const maxSample = 1000

type inferredDescription struct {
	Description string `json:"description"`
}

type inferredSchema struct {
	Schema map[string]string `json:"schema"`
}

func (s *Server) inferDescription(r *request) (any, error) {
	found, err := s.describe(r)
	if found.Description == nil {
		found.Description = new(string)
	}
	return inferredDescription{Description: *found.Description}, err
}

func (s *Server) inferSchema(r *request) (any, error) {
	found, err := s.describe(r)
	if found.Schema == nil {
		found.Schema = map[string]string{}
	}
	return inferredSchema{Schema: found.Schema}, err
}

func (s *Server) describe(r *request) (domain.Definition, error) {
	f := r.fields(s.cfg.MaxBody)
	sample := f.sample("sample")
	if len(sample) == 0 && r.err() == nil {
		f.check("sample", "must have a row")
	}
	current := f.currentValue()
	provider, model := s.model(f)
	if err := r.err(); err != nil {
		return domain.Definition{}, err
	}
	return s.cfg.Describe(r.ctx(), sample, current, provider, model)
}

// model reads the provider and model; "" is the default.
func (s *Server) model(f fields) (provider, model string) {
	before := len(f.wrong)
	provider, model = f.optionalText("provider", "", domain.CheckModelName), f.optionalText("model", "", domain.CheckModelName)
	if len(f.wrong) == before {
		f.wrong = append(f.wrong, s.cfg.CheckModel(provider, model)...)
	}
	return provider, model
}

func (f fields) sample(name string) []json.RawMessage {
	rows := f.rows(name)
	if len(rows) > maxSample {
		f.check(name, fmt.Sprintf("must have at most %d rows", maxSample))
	}
	return rows
}

// preview answers with what an ingestion would store, and stores nothing.
func (s *Server) preview(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	rows := f.sample("data")
	f.checkKeys("data", rows)
	patch := f.definition()
	if err := r.err(); err != nil {
		return nil, err
	}
	shown, err := s.cfg.Datasets.Preview(r.ctx(), r.caller, rows, patch.Definition)
	return orEmpty(shown), wrongRows("data", err)
}
