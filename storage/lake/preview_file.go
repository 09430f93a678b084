package lake

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

	"parley/storage"
	"parley/storage/lake/ingest"
)

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

// PreviewFile gives what an ingestion of an uploaded file into a new dataset would make, for
// each of its tables. It stores nothing.
func (d *Datasets) PreviewFile(ctx context.Context, caller storage.Caller, file storage.UploadFile, options storage.IngestOptions) (storage.FilePreview, error) {
	dir, done, err := d.workDir()
	if err != nil {
		return storage.FilePreview{}, err
	}
	defer done()
	path, err := d.config.Objects.Source(ctx, file.Key, dir)
	if err != nil {
		return storage.FilePreview{}, err
	}
	p := filePreview{Datasets: d, caller: caller, dir: dir, source: ingest.Source{Path: path, Name: file.Filename}, options: options}
	var names []string
	if options.Sheet == "" {
		if names, err = d.config.Ingester.Parts(ctx, p.admission(), p.source, filepath.Join(dir, "parts")); err != nil {
			return storage.FilePreview{}, err
		}
	}
	if len(names) < 2 {
		name := options.Sheet
		if name == "" {
			name = strings.TrimSuffix(file.Filename, filepath.Ext(file.Filename))
		}
		if len(names) == 1 {
			name = names[0]
		}
		err := p.add(ctx, name, options.Sheet)
		return p.preview, err
	}
	return p.preview, p.addAll(ctx, names)
}

// Tables gives the names of the tables of an uploaded file, none for a file that is one
// table.
func (d *Datasets) Tables(ctx context.Context, caller storage.Caller, file storage.UploadFile) ([]string, error) {
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
	caller  storage.Caller
	dir     string
	source  ingest.Source
	options storage.IngestOptions
	preview storage.FilePreview
}

func (p *filePreview) admission() Admission { return Admission{User: p.caller.Username} }

// addAll adds the tables of a file. One that cannot be read says why.
func (p *filePreview) addAll(ctx context.Context, names []string) error {
	for i, name := range names {
		if i == previewTables {
			p.preview.Tables = append(p.preview.Tables, unread(name, fmt.Sprintf("only the first %d of %d tables are shown; choose one by its name", previewTables, len(names))))
			return nil
		}
		err := p.add(ctx, name, name)
		var refusal *storage.Error
		switch {
		case errors.As(err, &refusal) && errors.Is(err, storage.ErrInvalid):
			p.preview.Tables = append(p.preview.Tables, unread(name, refusal.Message))
		case err != nil:
			return err
		}
	}
	return nil
}

func unread(name, reason string) storage.TablePreview {
	return storage.TablePreview{Name: name, Warnings: []storage.IngestWarning{{Message: reason}}}
}

// add ingests a table into files of its own, and reads the first rows back.
func (p *filePreview) add(ctx context.Context, name, sheet string) error {
	out := filepath.Join(p.dir, fmt.Sprint("table", len(p.preview.Tables)))
	defer os.RemoveAll(out)
	options := p.options
	options.Sheet = sheet
	made, err := p.config.Ingester.Ingest(ctx, p.admission(), ingest.Job{Sources: []ingest.Source{p.source}, Options: options, OutDir: out})
	if err != nil {
		return err
	}
	rows, _, err := p.readBack(ctx, p.caller, made, fmt.Sprintf("SELECT * FROM preview LIMIT %d", previewRows), previewBytes)
	if err != nil {
		return err
	}
	report := made.Report.Fit()
	if p.preview.Encoding == "" {
		p.preview.Encoding, p.preview.Delimiter, p.preview.HeaderRow = report.Encoding, report.Delimiter, report.HeaderRow
	}
	columns, err := previewColumns(made.Columns, report, rows)
	p.preview.Tables = append(p.preview.Tables, storage.TablePreview{
		Name: name, Columns: columns, Rows: rows, RowCount: made.Rows, Warnings: report.Warnings,
	})
	return err
}

// previewColumns describes columns, with examples from the rows.
func previewColumns(columns []storage.Column, report storage.IngestReport, rows []json.RawMessage) ([]storage.ColumnPreview, error) {
	known := map[string]storage.ColumnReport{}
	for _, c := range report.Columns {
		known[c.Name] = c
	}
	values := make([]map[string]json.RawMessage, len(rows))
	for i, row := range rows {
		if err := json.Unmarshal(row, &values[i]); err != nil {
			return nil, fmt.Errorf("read a preview: %w", err)
		}
	}
	all := make([]storage.ColumnPreview, len(columns))
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
