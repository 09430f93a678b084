package rest

import (
	"encoding/json"
	"maps"
	"slices"

	"parley/storage"
)

// ingestOptions reads the optional options of an ingestion. Unknown ones are errors: what
// is left out of them by mistake would be guessed.
func (f fields) ingestOptions() (options storage.IngestOptions) {
	if !f.has("options") {
		return options
	}
	inner := fields{request: f.request, at: f.at + "options."}
	inner.members, _ = decode[map[string]json.RawMessage](f, "options", "an object")
	before := len(f.wrong)
	for _, name := range slices.Sorted(maps.Keys(inner.members)) {
		if inner.has(name) {
			inner.ingestOption(name, &options)
		}
	}
	for _, wrong := range options.Normalize() {
		if field := inner.at + wrong.Field; !slices.ContainsFunc(f.wrong[before:], func(known storage.FieldError) bool { return known.Field == field }) {
			inner.check(wrong.Field, wrong.Message)
		}
	}
	return options
}

func (f fields) ingestOption(name string, options *storage.IngestOptions) {
	switch name {
	case "encoding":
		options.Encoding = f.text(name, notEmpty(maxKey))
	case "delimiter":
		options.Delimiter = f.text(name, notEmpty(maxKey))
	case "headerRow":
		row, ok := f.integer(name)
		if options.HeaderRow = new(int(row)); ok && row < 0 {
			f.check(name, "must be at least 0")
		}
	case "sheet":
		options.Sheet = f.text(name, notEmpty(maxKey))
	case "nullValues":
		options.NullValues, _ = decode[[]string](f, name, "a list of strings")
	case "types":
		options.Types = f.texts(name)
	case "union":
		options.Union, _ = decode[bool](f, name, "true or false")
	default:
		f.check(name, "is not an option: there are encoding, delimiter, headerRow, sheet, nullValues, types and union")
	}
}

type filePreviewJSON struct {
	Tables    []tablePreviewJSON `json:"tables"`
	Encoding  string             `json:"encoding,omitempty"`
	Delimiter string             `json:"delimiter,omitempty"`
	HeaderRow int                `json:"headerRow,omitempty"`
}

type tablePreviewJSON struct {
	Name     string              `json:"name"`
	Columns  []columnPreviewJSON `json:"columns"`
	Rows     []json.RawMessage   `json:"rows"`
	RowCount int64               `json:"rowCount"`
	Warnings []warningJSON       `json:"warnings"`
}

type columnPreviewJSON struct {
	columnReportJSON
	Examples []json.RawMessage `json:"examples"`
}

func toTablePreview(t storage.TablePreview) tablePreviewJSON {
	return tablePreviewJSON{
		Name: t.Name, Rows: orEmpty(t.Rows), RowCount: t.RowCount, Warnings: toList(t.Warnings, toWarning),
		Columns: toList(t.Columns, func(c storage.ColumnPreview) columnPreviewJSON {
			return columnPreviewJSON{toColumnReport(c.ColumnReport), orEmpty(c.Examples)}
		}),
	}
}

// previewFile answers with what an ingestion of an uploaded file would make, and stores
// nothing.
func (s *Server) previewFile(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	ref, options := f.ingestFile(), f.ingestOptions()
	if err := r.err(); err != nil {
		return nil, err
	}
	file, err := s.uploadedFile(r, ref)
	if err != nil {
		return nil, err
	}
	preview, err := s.cfg.Lake.PreviewFile(r.ctx(), r.caller, file, options)
	return filePreviewJSON{
		Tables: toList(preview.Tables, toTablePreview), Encoding: preview.Encoding, Delimiter: preview.Delimiter, HeaderRow: preview.HeaderRow,
	}, err
}

// uploadedFile finds a file that the caller has uploaded.
func (s *Server) uploadedFile(r *request, ref storage.IngestFile) (storage.UploadFile, error) {
	session, err := s.cfg.Uploads.Session(r.ctx(), r.caller, ref.SessionID)
	if err != nil {
		return storage.UploadFile{}, err
	}
	file, ok := session.File(ref.FileID)
	if !ok {
		return file, storage.ErrNotFound
	}
	if file.Status != storage.UploadCompleted {
		return file, storage.Invalid(storage.FieldError{Field: "fileId", Message: "is not a file whose upload was finished"})
	}
	return file, nil
}

// reportJSON says how files were read.
type reportJSON struct {
	Encoding  string             `json:"encoding,omitempty"`
	Delimiter string             `json:"delimiter,omitempty"`
	HeaderRow int                `json:"headerRow,omitempty"`
	Columns   []columnReportJSON `json:"columns,omitempty"`
	Warnings  []warningJSON      `json:"warnings,omitempty"`
}

type columnReportJSON struct {
	Name        string  `json:"name"`
	Type        string  `json:"type"`
	From        string  `json:"from,omitempty"`
	Unit        string  `json:"unit,omitempty"`
	Missing     int64   `json:"missing"`
	Misfits     int64   `json:"misfits,omitempty"`
	MisfitLines []int64 `json:"misfitLines,omitempty"`
}

type warningJSON struct {
	Line    int64  `json:"line,omitempty"`
	Column  string `json:"column,omitempty"`
	Message string `json:"message"`
}

func toReport(r storage.IngestReport) reportJSON {
	return reportJSON{
		Encoding: r.Encoding, Delimiter: r.Delimiter, HeaderRow: r.HeaderRow,
		Columns: toList(r.Columns, toColumnReport), Warnings: toList(r.Warnings, toWarning),
	}
}

func toColumnReport(c storage.ColumnReport) columnReportJSON {
	c.Type = toColumn(storage.Column{Type: c.Type}).Type
	return columnReportJSON(c)
}

func toWarning(w storage.IngestWarning) warningJSON { return warningJSON(w) }
