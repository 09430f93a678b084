package domain

import (
	"iter"
	"strings"
	"time"
)

// IngestionStatus says how far an ingestion is.
type IngestionStatus string

// The states of an ingestion.
const (
	IngestionPending    IngestionStatus = "pending"
	IngestionProcessing IngestionStatus = "processing"
	IngestionCompleted  IngestionStatus = "completed"
	IngestionFailed     IngestionStatus = "failed"
)

// IngestMode is what becomes of the rows that a dataset has.
type IngestMode string

// The modes: rows are added to those there are, or take their place.
const (
	IngestAppend  IngestMode = "append"
	IngestReplace IngestMode = "replace"
)

// MaxIngestionAttempts is how often an ingestion is taken up before it fails.
const MaxIngestionAttempts = 3

// MaxOpenIngestions is how many ingestions that have not ended one user may have.
const MaxOpenIngestions = 1000

// Ingestion is uploaded files becoming rows of a dataset.
type Ingestion struct {
	ID             string
	Name           string
	Mode           IngestMode
	Status         IngestionStatus
	StatusMessage  string
	ProcessedBytes int64
	ExpectedBytes  int64
	ProcessedRows  int64
	Seen           bool
	CreatedAt      time.Time
	// Report says how the files were read; zero until it is completed.
	Report IngestReport
	// Files are those that the reader has uploaded and that are still kept.
	Files []IngestFile
	// Options say how the files were to be read.
	Options IngestOptions
}

// IngestFile names a completed upload.
type IngestFile struct {
	SessionID string
	FileID    string
}

// NewIngestion is an ingestion to be started.
type NewIngestion struct {
	ID string
	// Name is what it is shown as; "" for the names of its files.
	Name  string
	Mode  IngestMode
	Files []IngestFile
	// Options say how the files are read.
	Options IngestOptions
	// Define is what of the dataset's definition is set with it; the caller's own
	// dataset is then made when there is none. nil for a dataset as it is.
	Define *DefinitionPatch
	// Tables, unless empty, become an ingestion each, into datasets of their own in the
	// same namespace, instead of one into the dataset. All are started or none.
	Tables []IngestTable
}

// IngestTable is an ingestion of one table of a file.
type IngestTable struct {
	ID string
	// Dataset is the name of the dataset, Table that of the table.
	Dataset, Table string
}

// IngestTables returns the tables of a file as ingestions into datasets that are named after
// a dataset and a table each. newID gives the id of a table's ingestion.
func IngestTables(dataset string, tables []string, newID func(table string) string) []IngestTable {
	taken := map[string]bool{}
	all := make([]IngestTable, len(tables))
	for i, table := range tables {
		name := UniqueName(TableName(dataset, table), func(name string) bool { return taken[strings.ToLower(name)] })
		taken[strings.ToLower(name)] = true
		all[i] = IngestTable{ID: newID(table), Dataset: name, Table: table}
	}
	return all
}

// Each returns the ingestions to start, and the names of their datasets.
func (i NewIngestion) Each(dataset string) iter.Seq2[string, NewIngestion] {
	return func(yield func(string, NewIngestion) bool) {
		if len(i.Tables) == 0 {
			yield(dataset, i)
			return
		}
		for _, table := range i.Tables {
			one := i
			one.ID, one.Options.Sheet = table.ID, table.Table
			if !yield(table.Dataset, one) {
				return
			}
		}
	}
}

// IngestionJob is an ingestion that was claimed, with all that doing it takes.
type IngestionJob struct {
	Lease
	ID   string
	Mode IngestMode
	// Caller is on whose behalf it runs.
	Caller    Caller
	DatasetID string
	Files     []UploadFile
	Options   IngestOptions
}

// IngestionEnd completes an ingestion that is still the claimant's.
type IngestionEnd struct {
	Lease
	ID   string
	Rows int64
	// Report says how the files were read.
	Report IngestReport
}
