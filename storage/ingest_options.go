package storage

// IngestOptions say how files are read. What is zero is detected.
type IngestOptions struct {
	// Encoding is "utf-8", "utf-16" or "windows-1252".
	Encoding string `json:"encoding,omitempty"`
	// Delimiter is the character between fields.
	Delimiter string `json:"delimiter,omitempty"`
	// HeaderRow is the number of the row that names the columns, from 1.
	HeaderRow int `json:"headerRow,omitempty"`
	// Sheet is the table to read in a file of several, such as a sheet of a workbook.
	Sheet string `json:"sheet,omitempty"`
	// NullValues are the spellings of a missing value, besides nothing.
	NullValues []string `json:"nullValues,omitempty"`
	// Types are the types of columns, by name.
	Types map[string]string `json:"types,omitempty"`
	// Union allows files whose columns differ in one dataset.
	Union bool `json:"union,omitempty"`
}

// IngestReport says how files were read.
type IngestReport struct {
	Encoding  string          `json:"encoding,omitempty"`
	Delimiter string          `json:"delimiter,omitempty"`
	HeaderRow int             `json:"headerRow,omitempty"`
	Columns   []ColumnReport  `json:"columns,omitempty"`
	Warnings  []IngestWarning `json:"warnings,omitempty"`
}

// ColumnReport says what a column became.
type ColumnReport struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// From is the form that its cells were read from, such as "1.234,56" or "d.m.y"; ""
	// for the plain one. Unit is what stood beside the numbers, such as "€" or "%".
	From string `json:"from,omitempty"`
	Unit string `json:"unit,omitempty"`
	// Missing counts cells without a value.
	Missing int64 `json:"missing"`
	// Misfits counts the cells that kept the column from a narrower type, and MisfitLines
	// are the first lines of such cells.
	Misfits     int64   `json:"misfits,omitempty"`
	MisfitLines []int64 `json:"misfitLines,omitempty"`
}

// IngestWarning is something in a file that its owner should look at.
type IngestWarning struct {
	Line    int64  `json:"line,omitempty"`
	Column  string `json:"column,omitempty"`
	Message string `json:"message"`
}
