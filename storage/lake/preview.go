package lake

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"parley/storage"
	"parley/storage/lake/ingest"
)

const (
	// maxPreview is the largest preview, in bytes.
	maxPreview = 16 << 20
	// maxPreviewProse is the most text that a preview has extracted: somebody
	// waits for it.
	maxPreviewProse = pieceBytes
)

// Preview gives the rows that an ingestion of rows, JSON objects, would store in
// a dataset that has this definition and no rows yet. Nothing is stored. Where
// texts become rows with the fields of the definition, and the rows are texts,
// it shows those.
func (d *Datasets) Preview(ctx context.Context, caller storage.Caller, rows []json.RawMessage, definition storage.Definition) ([]json.RawMessage, error) {
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
	dir, done, err := d.workDir()
	if err != nil {
		return nil, err
	}
	defer done()
	path := filepath.Join(dir, "rows.ndjson")
	if err := writeRows(path, rows); err != nil {
		return nil, err
	}
	made, err := d.config.Ingester.Ingest(ctx, Admission{User: caller.Username}, ingest.Job{Rows: path, OutDir: filepath.Join(dir, "made")})
	if err != nil {
		return nil, err
	}
	return d.readBack(ctx, caller, made)
}

// readBack gives the rows of files that were just made and belong to nothing, as
// they are stored: without a query's score.
func (d *Datasets) readBack(ctx context.Context, caller storage.Caller, made ingest.Result) ([]json.RawMessage, error) {
	table := Table{Name: "preview", Columns: made.Columns, ID: "preview/" + newHolder(), RowCount: made.Rows}
	for _, file := range made.Files {
		if err := os.Chmod(file.Path, 0o644); err != nil {
			return nil, fmt.Errorf("show a file to a worker: %w", err)
		}
		table.Files = append(table.Files, file.Path)
	}
	result, err := d.config.Pool.Query(ctx, Query{
		SQL: "SELECT * FROM preview", Tables: []Table{table}, MaxRows: int(min(made.Rows, maxPreview)), MaxBytes: maxPreview, Timeout: d.config.Timeout, User: caller.Username,
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read a preview: %w", err)
	case result.Truncated:
		return nil, storage.Errorf(storage.ErrInvalid, "the rows would take more than %d bytes to show; send fewer", maxPreview)
	}
	for i, row := range result.Rows {
		result.Rows[i] = append(row[:bytes.LastIndex(row, []byte(`,"__metadata":`))], '}')
	}
	return result.Rows, nil
}

// extractPreview gives the rows that a text holds.
func (d *Datasets) extractPreview(ctx context.Context, text string, definition storage.Definition) ([]json.RawMessage, error) {
	if len(text) > maxPreviewProse {
		return nil, storage.Invalid(storage.FieldError{Field: "data", Message: fmt.Sprintf("must have at most %d bytes of text to extract rows from", maxPreviewProse)})
	}
	if err := checkFields(definition.Schema); err != nil {
		return nil, err
	}
	return d.extractText(ctx, "the data", text, definition, func(float64, int) {})
}

// proseOf gives the texts of rows that are texts: each has one field, a string,
// or is a passage.
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
