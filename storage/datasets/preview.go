package datasets

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/ingest/source"
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

// readBack queries new files as the table preview, and returns its rows as they are stored:
// without a query's score. It reports whether they are not all.
func (d *Datasets) readBack(ctx context.Context, caller domain.Caller, stored ingest.Result, sql string, maxBytes int64) ([]json.RawMessage, bool, error) {
	table := Table{Name: "preview", Columns: stored.Columns, ID: "preview/" + domain.NewID(), RowCount: stored.Rows}
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

const (
	// previewRows is how many rows a preview of a table shows, in at most previewBytes.
	previewRows  = 20
	previewBytes = 1 << 20
	// previewTables is how many tables of a file are read for a preview.
	previewTables = 20
	// previewExamples is how many values of a column are shown, in at most exampleBytes each.
	previewExamples = 3
	exampleBytes    = 256
)

// PreviewFiles returns what an ingestion of uploaded files would make: for each table of one file,
// or of several files together. It refuses what the ingestion refuses, and stores nothing.
func (d *Datasets) PreviewFiles(ctx context.Context, caller domain.Caller, files []domain.UploadFile, into domain.PreviewTarget, options domain.IngestOptions) (domain.FilePreview, error) {
	dir, done, err := d.workDir()
	if err != nil {
		return domain.FilePreview{}, err
	}
	defer done()
	p := filePreview{Datasets: d, caller: caller, dir: dir, into: into, options: options}
	for i, file := range files {
		sub := filepath.Join(dir, fmt.Sprint("source", i))
		if err := os.Mkdir(sub, 0o700); err != nil {
			return domain.FilePreview{}, fmt.Errorf("make a folder for a source: %w", err)
		}
		path, err := d.config.Objects.Source(ctx, file.Key, sub)
		if err != nil {
			return domain.FilePreview{}, err
		}
		p.sources = append(p.sources, ingest.Source{Path: path, Name: file.Filename})
	}
	var names []string
	if options.Sheet == "" && len(files) == 1 {
		if names, err = d.config.Ingester.Parts(ctx, p.admission(), p.sources[0], filepath.Join(dir, "parts")); err != nil {
			return domain.FilePreview{}, err
		}
	}
	if len(names) < 2 {
		name := options.Sheet
		if name == "" {
			name = strings.TrimSuffix(files[0].Filename, filepath.Ext(files[0].Filename))
		}
		if len(names) == 1 {
			name = names[0]
		}
		err := p.add(ctx, name, options.Sheet, into.Dataset.Name)
		return p.preview, err
	}
	return p.preview, p.addAll(ctx, names)
}

// Tables returns the names of the tables of an uploaded file, none for a file that is one
// table.
func (d *Datasets) Tables(ctx context.Context, caller domain.Caller, file domain.UploadFile) ([]string, error) {
	dir, done, err := d.workDir()
	if err != nil {
		return nil, err
	}
	defer done()
	path, err := d.config.Objects.Source(ctx, file.Key, dir)
	if err != nil {
		return nil, err
	}
	return d.config.Ingester.Parts(ctx, Admission{User: caller.Username}, ingest.Source{Path: path, Name: file.Filename}, filepath.Join(dir, "parts"))
}

// filePreview is a preview in the making.
type filePreview struct {
	*Datasets
	caller  domain.Caller
	dir     string
	sources []ingest.Source
	into    domain.PreviewTarget
	options domain.IngestOptions
	preview domain.FilePreview
}

func (p *filePreview) admission() Admission { return Admission{User: p.caller.Username} }

// addAll adds the tables of a file. One that cannot be read says why.
func (p *filePreview) addAll(ctx context.Context, names []string) error {
	for i, table := range domain.IngestTables(p.into.Dataset.Name, names, func(string) string { return "" }) {
		name := table.Table
		if i == previewTables {
			p.preview.Tables = append(p.preview.Tables, unread(name, fmt.Sprintf("only the first %d of %d tables are shown; choose one by its name", previewTables, len(names))))
			return nil
		}
		err := p.add(ctx, name, name, table.Dataset)
		var refusal *domain.Error
		switch {
		case errors.As(err, &refusal) && errors.Is(err, domain.ErrInvalid):
			p.preview.Tables = append(p.preview.Tables, unread(name, refusal.Message))
		case err != nil:
			return err
		}
	}
	return nil
}

func unread(name, reason string) domain.TablePreview {
	return domain.TablePreview{Name: name, Warnings: []domain.IngestWarning{{Message: reason}}}
}

// have returns the columns that the dataset of this name has, and keeps.
func (p *filePreview) have(ctx context.Context, dataset string) ([]domain.Column, error) {
	ref := p.into.Dataset
	if ref.Name == "" {
		return nil, nil
	}
	ref.Name = dataset
	data, err := p.config.Records.DatasetData(ctx, p.caller, ref)
	if errors.Is(err, domain.ErrNotFound) && ref.Owner == p.caller.Username {
		return nil, nil // the ingestion creates it
	}
	if err == nil {
		err = data.MayEdit()
	}
	isText := func(s ingest.Source) bool { return source.MayBeText(s.Name) }
	if err != nil || p.into.Mode == domain.IngestReplace || p.extracts(data.Definition) && slices.ContainsFunc(p.sources, isText) {
		return nil, err
	}
	return data.Columns, nil
}

// add ingests a table into files of its own, and reads the first rows back.
func (p *filePreview) add(ctx context.Context, name, sheet, dataset string) error {
	out := filepath.Join(p.dir, fmt.Sprint("table", len(p.preview.Tables)))
	defer os.RemoveAll(out)
	options := p.options
	options.Sheet = sheet
	have, err := p.have(ctx, dataset)
	if err != nil {
		return err
	}
	made, err := p.config.Ingester.Ingest(ctx, p.admission(), ingest.Job{Sources: p.sources, Options: options, Have: have, OutDir: out})
	if err != nil {
		return err
	}
	// Columns that the dataset alone has are not shown.
	var own []domain.Column
	var exprs []string
	for _, c := range made.Columns {
		if slices.ContainsFunc(made.Report.Columns, func(r domain.ColumnReport) bool { return r.Name == c.Name }) {
			own, exprs = append(own, c), append(exprs, sqltext.Name(c.Name))
		}
	}
	rows, _, err := p.readBack(ctx, p.caller, made, fmt.Sprintf("SELECT %s FROM preview LIMIT %d", strings.Join(exprs, ", "), previewRows), previewBytes)
	if err != nil {
		return err
	}
	report := made.Report.Fit()
	if p.preview.Encoding == "" {
		p.preview.Encoding, p.preview.Delimiter, p.preview.HeaderRow = report.Encoding, report.Delimiter, report.HeaderRow
	}
	columns, err := previewColumns(own, report, rows)
	p.preview.Tables = append(p.preview.Tables, domain.TablePreview{
		Name: name, Columns: columns, Rows: rows, RowCount: made.Rows, Warnings: report.Warnings,
	})
	return err
}

// previewColumns describes columns, with examples from the rows.
func previewColumns(columns []domain.Column, report domain.IngestReport, rows []json.RawMessage) ([]domain.ColumnPreview, error) {
	known := map[string]domain.ColumnReport{}
	for _, c := range report.Columns {
		known[c.Name] = c
	}
	values := make([]map[string]json.RawMessage, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &values[i]); err != nil {
			return nil, fmt.Errorf("read a preview: %w", err)
		}
	}
	all := make([]domain.ColumnPreview, len(columns))
	for i, c := range columns {
		all[i].ColumnReport = known[c.Name]
		all[i].Name, all[i].Type = c.Name, c.Type
		for _, row := range values {
			value := row[c.Name]
			seen := slices.ContainsFunc(all[i].Examples, func(v json.RawMessage) bool { return bytes.Equal(v, value) })
			if len(all[i].Examples) < previewExamples && !seen && len(value) <= exampleBytes && len(value) > 0 && string(value) != "null" {
				all[i].Examples = append(all[i].Examples, value)
			}
		}
	}
	return all, nil
}
