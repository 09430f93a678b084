package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

const (
	// maxPreview is the largest preview, in bytes.
	maxPreview = 16 << 20
	// maxPreviewProse limits the text to extract: a request waits for it.
	maxPreviewProse = pieceBytes
)

// Preview returns the rows that an ingestion of JSON objects, or of texts that become rows,
// would store in an empty dataset with this definition. It stores nothing.
func (d *Datasets) Preview(ctx context.Context, caller domain.Caller, rows []json.RawMessage, definition domain.Definition) ([]json.RawMessage, error) {
	if d.extracts(definition) {
		if text, ok := proseOf(rows); ok {
			var err error
			if rows, err = d.extractPreview(ctx, text, definition); err != nil {
				return nil, err
			}
		}
	}
	if len(rows) == 0 {
		return []json.RawMessage{}, nil
	}
	var shown []json.RawMessage
	err := d.withRows(rows, func(dir, path string) error {
		result, err := d.config.Ingester.Ingest(ctx, Admission{User: caller.Username}, ingest.Job{Rows: path, OutDir: filepath.Join(dir, "made")})
		if err != nil {
			return err
		}
		var truncated bool
		if shown, truncated, err = d.readBack(ctx, caller, result, "SELECT * FROM preview", maxPreview); truncated {
			return domain.Errorf(domain.ErrInvalid, "the rows would take more than %d bytes to show; send fewer", maxPreview)
		}
		return err
	})
	return shown, err
}

// readBack queries new files as the table preview, and gives its rows as they are stored:
// without a query's score. It reports whether they are not all.
func (d *Datasets) readBack(ctx context.Context, caller domain.Caller, stored ingest.Result, sql string, maxBytes int64) ([]json.RawMessage, bool, error) {
	table := Table{Name: "preview", Columns: stored.Columns, ID: "preview/" + newHolder(), RowCount: stored.Rows}
	for _, file := range stored.Files {
		if err := os.Chmod(file.Path, 0o644); err != nil {
			return nil, false, fmt.Errorf("show a file to a worker: %w", err)
		}
		table.Files = append(table.Files, file.Path)
	}
	result, err := d.config.Pool.Query(ctx, Query{
		SQL: sql, Tables: []Table{table}, MaxRows: int(min(stored.Rows, maxPreview)), MaxBytes: maxBytes, Timeout: d.config.Timeout, User: caller.Username,
	})
	if err != nil {
		return nil, false, fmt.Errorf("read a preview: %w", err)
	}
	for i, row := range result.Rows {
		result.Rows[i] = append(row[:bytes.LastIndex(row, []byte(`,"__metadata":`))], '}')
	}
	return result.Rows, result.Truncated, nil
}

// extractPreview returns the rows that a text holds.
func (d *Datasets) extractPreview(ctx context.Context, text string, definition domain.Definition) ([]json.RawMessage, error) {
	if len(text) > maxPreviewProse {
		return nil, domain.Invalid(domain.FieldError{Field: "data", Message: fmt.Sprintf("must have at most %d bytes of text to extract rows from", maxPreviewProse)})
	}
	if err := checkFields(definition.Schema); err != nil {
		return nil, err
	}
	return d.extractText(ctx, "the data", text, definition, func(float64, int) {})
}

// proseOf returns the text of rows that each have one field, a string, or are passages.
func proseOf(rows []json.RawMessage) (string, bool) {
	texts := make([]string, len(rows))
	for i, row := range rows {
		var fields map[string]any
		if json.Unmarshal(row, &fields) != nil {
			return "", false
		}
		if _, isPassage := fields["passage"]; isPassage && len(fields) == 3 && fields["document"] != nil {
			fields = map[string]any{"text": fields["text"]}
		}
		for _, value := range fields {
			text, isText := value.(string)
			if !isText || len(fields) != 1 {
				return "", false
			}
			texts[i] = text
		}
	}
	return strings.Join(texts, "\n\n"), len(rows) > 0
}
