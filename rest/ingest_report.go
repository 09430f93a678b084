package rest

import "parley/storage"

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
