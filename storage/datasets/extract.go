package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/ingest/source"
)

// Extract makes rows of a piece of text: JSON objects with the fields of its definition,
// whose values are texts, numbers, booleans and null. Its errors have messages for the
// user: ErrInvalid for the piece, ErrUnavailable for the model.
type Extract func(ctx context.Context, piece Piece) ([]json.RawMessage, error)

// Piece is a piece of a text.
type Piece struct {
	// Document is the name of the text.
	Document string
	// Text has at most pieceBytes bytes.
	Text string
	// Definition has the fields of the rows, at least one.
	Definition domain.Definition
}

const (
	// pieceBytes is the size of a piece: progress shows after each.
	pieceBytes = 64 << 10
	// maxProse limits the text of one file: each piece costs money or time.
	maxProse = 16 << 20
)

// extracts reports whether texts become rows with the fields of a definition, rather than
// passages: it has a field that passages do not have.
func (d *Datasets) extracts(definition domain.Definition) bool {
	if d.config.Extract == nil {
		return false
	}
	for name := range definition.Schema {
		switch strings.ToLower(name) {
		case "document", "passage", "text":
		default:
			return true
		}
	}
	return false
}

// extractSources replaces texts among the sources by their rows, where the dataset's
// definition has fields. Workers read all before it extracts, so that a wrong one costs
// nothing.
func (d *Datasets) extractSources(ctx context.Context, a *addition) error {
	data, err := d.config.Records.DatasetDataByID(ctx, a.caller, a.datasetID)
	if err != nil {
		return err
	}
	if !d.extracts(data.Definition) {
		return nil
	}
	if err := data.MayEdit(); err != nil {
		return err
	}
	if err := checkFields(data.Definition.Schema); err != nil {
		return err
	}
	texts := make([]*string, len(a.sources))
	for i, file := range a.sources {
		if !source.MayBeText(file.Name) {
			continue
		}
		dir := filepath.Join(a.dir, fmt.Sprint("text", i))
		text, ok, err := d.config.Ingester.Text(ctx, a.admission(), file, a.options, dir, maxProse)
		if err != nil {
			return err
		}
		if ok && a.short {
			return errLong // a language model takes its time, and would start again
		}
		if ok {
			texts[i] = &text
		}
	}
	return d.extractTexts(ctx, a, data.Definition, texts)
}

// checkFields refuses fields that cannot be columns.
func checkFields(schema map[string]string) error {
	seen := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(schema)) {
		if strings.HasPrefix(name, "__") {
			return domain.Errorf(domain.ErrInvalid, "schemaDefinition has the field %q; names that start with __ are for internal use", name)
		}
		if other, taken := seen[strings.ToLower(name)]; taken {
			return domain.Errorf(domain.ErrInvalid, "schemaDefinition has the fields %q and %q, which would be one column", other, name)
		}
		seen[strings.ToLower(name)] = name
	}
	return nil
}

// extractTexts extracts the texts. It omits those without rows, unless all are.
func (d *Datasets) extractTexts(ctx context.Context, a *addition, definition domain.Definition, texts []*string) error {
	var sources []ingest.Source
	var empty []string
	var rows int64
	for i, source := range a.sources {
		if texts[i] == nil {
			sources = append(sources, source)
			continue
		}
		path := filepath.Join(a.dir, fmt.Sprintf("extracted%d.ndjson", i))
		found, err := d.extractText(ctx, source.Name, *texts[i], definition, func(share float64, found int) {
			a.extracted(i, share, rows+int64(found))
		})
		if err == nil {
			err = writeRows(path, found)
		}
		switch {
		case err != nil:
			return err
		case len(found) == 0:
			empty = append(empty, source.Name)
		default:
			rows += int64(len(found))
			sources = append(sources, ingest.Source{Path: path, Name: source.Name, Extracted: true})
		}
	}
	if len(sources) == 0 {
		return domain.Errorf(domain.ErrInvalid, "the language model found no rows with the fields of schemaDefinition in %s", strings.Join(empty, ", "))
	}
	a.sources = sources
	return nil
}

// extractText returns all rows of a text, and reports progress: the share that is done and
// the rows so far.
func (d *Datasets) extractText(ctx context.Context, document, text string, definition domain.Definition, report func(share float64, rows int)) ([]json.RawMessage, error) {
	var rows []json.RawMessage
	pieces := ingest.SplitProse(text, pieceBytes)
	for i, piece := range pieces {
		found, err := d.config.Extract(ctx, Piece{Document: document, Text: piece, Definition: definition})
		if err != nil {
			return nil, inDocument(document, err)
		}
		rows = append(rows, found...)
		report(float64(i+1)/float64(len(pieces)), len(rows))
	}
	return rows, nil
}

// inDocument adds the document's name to an error's message.
func inDocument(document string, err error) error {
	var known *domain.Error
	if !errors.As(err, &known) {
		return fmt.Errorf("extract rows: %w", err)
	}
	return fmt.Errorf("%w: %w", domain.Errorf(known.Err, "no rows were extracted from %s: %s", document, known.Message), err)
}
