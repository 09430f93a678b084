package rest

import (
	"encoding/json"
	"maps"
	"slices"

	"parley/internal/domain"
)

// ingestOptions reads the optional options of an ingestion. Unknown ones are errors: what
// is left out of them by mistake would be guessed.
func (f fields) ingestOptions() (options domain.IngestOptions) {
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
		if field := inner.at + wrong.Field; !slices.ContainsFunc(f.wrong[before:], func(known domain.FieldError) bool { return known.Field == field }) {
			inner.check(wrong.Field, wrong.Message)
		}
	}
	return options
}

func (f fields) ingestOption(name string, options *domain.IngestOptions) {
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
	Name     string                 `json:"name"`
	Columns  []columnPreviewJSON    `json:"columns"`
	Rows     []json.RawMessage      `json:"rows"`
	RowCount int64                  `json:"rowCount"`
	Warnings []domain.IngestWarning `json:"warnings"`
}

type columnPreviewJSON struct {
	domain.ColumnReport
	Examples []json.RawMessage `json:"examples"`
}

func toTablePreview(t domain.TablePreview) tablePreviewJSON {
	return tablePreviewJSON{
		Name: t.Name, Rows: orEmpty(t.Rows), RowCount: t.RowCount, Warnings: orEmpty(t.Warnings),
		Columns: toList(t.Columns, func(c domain.ColumnPreview) columnPreviewJSON {
			return columnPreviewJSON{toColumnReport(c.ColumnReport), orEmpty(c.Examples)}
		}),
	}
}

// previewFile answers with what an ingestion of uploaded files would make, and stores
// nothing.
func (s *Server) previewFile(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	var refs []domain.IngestFile
	if f.has("files") {
		refs = list(f, "files", maxIngestFiles, "", fields.ingestFile)
	} else {
		refs = append(refs, f.ingestFile())
	}
	into, options := f.previewTarget(), f.ingestOptions()
	if err := r.err(); err != nil {
		return nil, err
	}
	if into.Dataset.Name != "" {
		if err := s.mayIngest(r, into.Dataset); err != nil {
			return nil, err
		}
	}
	files := make([]domain.UploadFile, len(refs))
	for i, ref := range refs {
		var err error
		if files[i], err = s.uploadedFile(r, ref); err != nil {
			return nil, err
		}
	}
	preview, err := s.cfg.Datasets.PreviewFiles(r.ctx(), r.caller, files, into, options)
	return filePreviewJSON{
		Tables: toList(preview.Tables, toTablePreview), Encoding: preview.Encoding, Delimiter: preview.Delimiter, HeaderRow: preview.HeaderRow,
	}, err
}

// previewTarget reads the optional dataset of a preview.
func (f fields) previewTarget() (into domain.PreviewTarget) {
	into.Mode = domain.IngestMode(f.optionalText("mode", string(domain.IngestAppend), oneOf(domain.IngestAppend, domain.IngestReplace)))
	if f.has("dataset") {
		in := f.namespace()
		into.Dataset = domain.DatasetRef{Owner: in.Owner, Namespace: in.Name, Name: f.text("dataset", domain.CheckName)}
	}
	return into
}

// uploadedFile finds a file that the caller has uploaded.
func (s *Server) uploadedFile(r *request, ref domain.IngestFile) (domain.UploadFile, error) {
	session, err := s.cfg.Uploads.Session(r.ctx(), r.caller, ref.SessionID)
	if err != nil {
		return domain.UploadFile{}, err
	}
	file, ok := session.File(ref.FileID)
	if !ok {
		return file, domain.ErrNotFound
	}
	if file.Status != domain.UploadCompleted {
		return file, domain.Invalid(domain.FieldError{Field: "fileId", Message: "is not a file whose upload was finished"})
	}
	return file, nil
}

// toReport returns the types of a report's columns as datasets have them.
func toReport(r domain.IngestReport) domain.IngestReport {
	r.Columns = toList(r.Columns, toColumnReport)
	return r
}

func toColumnReport(c domain.ColumnReport) domain.ColumnReport {
	c.Type = toColumn(domain.Column{Type: c.Type}).Type
	return c
}
