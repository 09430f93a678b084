package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"parley/internal/domain"
	"parley/llm"
	"parley/storage/datasets"
)

// describe describes rows with the configured models.
func (s *server) describe(ctx context.Context, sample []json.RawMessage, current domain.Definition, provider, model string) (domain.Definition, error) {
	jobs, err := s.models.Jobs(provider, model)
	if err != nil {
		return domain.Definition{}, fmt.Errorf("choose a model: %w", err)
	}
	chosen, ok := jobs.(llm.Describer)
	if !ok {
		return domain.Definition{}, fmt.Errorf("%T describes nothing", jobs)
	}
	task := llm.DescribeTask{Sample: sample, Fields: llm.FieldsOf(sample, current.Schema)}
	if len(task.Fields) > llm.MaxFields {
		return domain.Definition{}, domain.Invalid(domain.FieldError{Field: "sample", Message: fmt.Sprintf("must have at most %d different fields", llm.MaxFields)})
	}
	if current.Description != nil {
		task.Description = *current.Description
	}
	found, err := chosen.Describe(ctx, task)
	if err != nil {
		return domain.Definition{}, modelError(err)
	}
	definition := domain.Definition{Description: &found.Text, Schema: map[string]string{}}
	for _, field := range found.Fields {
		definition.Schema[field.Name] = field.Description
	}
	return definition, nil
}

// checkModel says which of the names of a model are not configured.
func (s *server) checkModel(provider, model string) (wrong []domain.FieldError) {
	if _, err := s.models.Jobs(provider, model); err == nil {
		return nil
	}
	there := strings.Join(s.models.Names(), ", ")
	for _, field := range []struct{ name, text string }{{"provider", provider}, {"model", model}} {
		if field.text != "" {
			wrong = append(wrong, domain.FieldError{Field: field.name, Message: fmt.Sprintf("%q is not set here; there is %s", field.text, there)})
		}
	}
	return wrong
}

// extractor extracts rows from texts with the default model; nil if that cannot.
func extractor(models *llm.Models) datasets.Extract {
	jobs, err := models.Jobs("", "")
	if err != nil {
		return nil
	}
	chosen, ok := jobs.(llm.Extractor)
	if !ok {
		return nil
	}
	return func(ctx context.Context, piece datasets.Piece) ([]json.RawMessage, error) {
		task := llm.ExtractTask{Document: piece.Document, Text: piece.Text, Fields: llm.FieldsOf(nil, piece.Definition.Schema)}
		if len(task.Fields) > llm.MaxFields {
			return nil, domain.Errorf(domain.ErrInvalid, "schemaDefinition has more than %d fields", llm.MaxFields)
		}
		if piece.Definition.Description != nil {
			task.Description = *piece.Definition.Description
		}
		found, err := chosen.Extract(ctx, task)
		return found.Rows, modelError(err)
	}
}

// modelError has the model's message for the caller, and the details for the log.
func modelError(err error) error {
	if !errors.Is(err, llm.ErrUnavailable) && !errors.Is(err, llm.ErrNoAnswer) {
		return err
	}
	return fmt.Errorf("%w: %v", domain.Errorf(domain.ErrUnavailable, "%v", err), slog.AnyValue(err).Resolve())
}
