package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// maxSample limits the rows of a sample or a preview.
const maxSample = 1000

// Describer describes datasets from sample rows.
type Describer interface {
	// Describe describes a dataset and its fields from sample rows, starting from the
	// current descriptions. ErrUnavailable when the model is.
	Describe(ctx context.Context, sample []json.RawMessage, current storage.Definition, provider, model string) (storage.Definition, error)
	// CheckModel returns the errors of the fields provider and model, which may be "": they
	// name no configured model.
	CheckModel(provider, model string) []storage.FieldError
}

type inferredDescription struct {
	Description string `json:"description"`
}

type inferredSchema struct {
	Schema map[string]string `json:"schema"`
}

func (s *Server) inferDescription(c *gin.Context, _ storage.Caller) error {
	found, err := s.describe(c)
	if err != nil {
		return err
	}
	var answer inferredDescription
	if found.Description != nil {
		answer.Description = *found.Description
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

func (s *Server) inferSchema(c *gin.Context, _ storage.Caller) error {
	found, err := s.describe(c)
	if err != nil {
		return err
	}
	if found.Schema == nil {
		found.Schema = map[string]string{}
	}
	c.PureJSON(http.StatusOK, inferredSchema{Schema: found.Schema})
	return nil
}

// describe describes the sample in the body.
func (s *Server) describe(c *gin.Context) (storage.Definition, error) {
	f, err := s.readFields(c)
	if err != nil {
		return storage.Definition{}, err
	}
	sample := f.sample("sample")
	if f.has("sample") && len(sample) == 0 && len(*f.wrong) == 0 {
		f.refuse("sample", "must have a row")
	}
	current := f.currentValue()
	provider, model := s.model(f)
	if err := f.err(); err != nil {
		return storage.Definition{}, err
	}
	return s.cfg.Describer.Describe(c.Request.Context(), sample, current, provider, model)
}

// model reads the provider and model; "" is the default.
func (s *Server) model(f fields) (provider, model string) {
	before := len(*f.wrong)
	provider, model = f.optionalText("provider", storage.CheckModelName), f.optionalText("model", storage.CheckModelName)
	if len(*f.wrong) == before {
		*f.wrong = append(*f.wrong, s.cfg.Describer.CheckModel(provider, model)...)
	}
	return provider, model
}

// sample reads the required sample rows.
func (f fields) sample(name string) []json.RawMessage {
	rows := f.rows(name)
	if len(rows) > maxSample {
		f.refuse(name, fmt.Sprintf("must have at most %d rows", maxSample))
	}
	return rows
}

// currentValue reads the current descriptions of a dataset and its fields.
func (f fields) currentValue() storage.Definition {
	inner := fields{at: f.at + "currentValue.", wrong: f.wrong}
	if f.has("currentValue") && json.Unmarshal(f.members["currentValue"], &inner.members) != nil {
		f.refuse("currentValue", "must be an object")
	}
	var current storage.Definition
	if inner.has("description") {
		text := inner.text("description")
		current.Description = &text
	}
	current.Schema = inner.texts("schema")
	for _, wrong := range current.Check() {
		name := "description"
		if field, ok := strings.CutPrefix(wrong.Field, "schemaDefinition"); ok {
			name = "schema" + field
		}
		inner.refuse(name, wrong.Message)
	}
	return current
}

// preview answers with what an ingestion would store, and stores nothing.
func (s *Server) preview(c *gin.Context, caller storage.Caller) error {
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	rows := f.sample("data")
	f.checkKeys("data", rows)
	patch, err := f.definition()
	if err != nil {
		return err
	}
	shown, err := s.cfg.Lake.Preview(c.Request.Context(), caller, rows, patch.Definition)
	if err != nil {
		return wrongRows("data", err)
	}
	c.PureJSON(http.StatusOK, orEmpty(shown))
	return nil
}
