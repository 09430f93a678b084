package rest

import (
	"errors"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/internal/domain"
)

// Limits of pages of ingestions, and of the files of one.
const (
	defaultAttempts = 25
	maxAttempts     = 100
	maxIngestFiles  = 100
)

type createdID struct {
	ID string `json:"id"`
}

type indexedJSON struct {
	Indexed int `json:"indexed"`
}

type attemptsJSON struct {
	Data     []attemptJSON `json:"data"`
	Metadata attemptsPage  `json:"metadata"`
}

type attemptsPage struct {
	PageSize        int        `json:"pageSize"`
	BeforeCreatedAt *time.Time `json:"beforeCreatedAt,omitempty"`
}

type attemptJSON struct {
	ID                 string                 `json:"id"`
	Status             domain.IngestionStatus `json:"status"`
	StatusMessage      string                 `json:"statusMessage"`
	ProcessedBytes     int64                  `json:"processedBytes"`
	ExpectedTotalBytes int64                  `json:"expectedTotalBytes"`
	ProcessedRows      int64                  `json:"processedRows"`
	Attributes         attemptAttributes      `json:"attributes"`
}

type attemptAttributes struct {
	Name      string            `json:"name"`
	Mode      domain.IngestMode `json:"mode"`
	Seen      bool              `json:"seen"`
	CreatedAt time.Time         `json:"createdAt"`
	// Files can be ingested again, with other options.
	Files   []ingestFileJSON      `json:"files,omitempty"`
	Options *domain.IngestOptions `json:"options,omitempty"`
	domain.IngestReport
}

type ingestFileJSON struct {
	SessionID string `json:"sessionId"`
	FileID    string `json:"fileId"`
}

func toIngestFile(f domain.IngestFile) ingestFileJSON { return ingestFileJSON(f) }

func toAttempt(i domain.Ingestion) attemptJSON {
	attributes := attemptAttributes{
		Name: i.Name, Mode: i.Mode, Seen: i.Seen, CreatedAt: i.CreatedAt, Files: toList(i.Files, toIngestFile), IngestReport: toReport(i.Report),
	}
	if !i.Options.Equal(domain.IngestOptions{}) {
		attributes.Options = &i.Options
	}
	return attemptJSON{
		ID: i.ID, Status: i.Status, StatusMessage: i.StatusMessage,
		ProcessedBytes: i.ProcessedBytes, ExpectedTotalBytes: i.ExpectedBytes, ProcessedRows: i.ProcessedRows,
		Attributes: attributes,
	}
}

// appendRows adds the rows in the body to one of the caller's own datasets, and creates it
// if necessary.
func (s *Server) appendRows(r *request) (any, error) {
	ref, f := r.ownDataset(), r.fields(s.cfg.MaxRowsBody)
	rows := f.rows("data")
	f.checkKeys("data", rows)
	patch, options := f.definition(), f.ingestOptions()
	if err := r.err(); err != nil {
		return nil, err
	}
	missing, err := s.isMissing(r, ref)
	if err != nil {
		return nil, err
	}
	// The definition comes first: whoever sends all again after a failure adds no row twice.
	var define func() error
	if missing || !patch.IsEmpty() {
		define = func() error { return s.define(r, ref, patch, missing) }
	}
	switch {
	case len(rows) > 0:
		err = s.cfg.Datasets.AppendRows(r.ctx(), r.caller, ref, rows, options, define)
	case define != nil:
		err = define()
	}
	if err != nil {
		return nil, wrongRows("data", err)
	}
	return indexedJSON{Indexed: len(rows)}, nil
}

// appendRowsToNew is appendRows for the route rowsForNew.
func (s *Server) appendRowsToNew(r *request) (any, error) {
	r.Params = gin.Params{{Key: "namespace", Value: "new"}, {Key: "datasetName", Value: r.Param("namespace")}}
	return s.appendRows(r)
}

// isMissing reports whether a dataset does not exist yet. It refuses callers who may not
// create it.
func (s *Server) isMissing(r *request, ref domain.DatasetRef) (missing bool, err error) {
	if _, err := s.cfg.Store.Dataset(r.ctx(), r.caller, ref); !errors.Is(err, domain.ErrNotFound) {
		return false, err
	}
	return true, s.cfg.Store.MayCreateDataset(r.ctx(), r.caller, ref.Namespace)
}

// define creates a dataset that is missing, or updates the definition of one.
func (s *Server) define(r *request, ref domain.DatasetRef, patch domain.DefinitionPatch, missing bool) error {
	if missing {
		err := s.cfg.Store.CreateDataset(r.ctx(), r.caller, ref.Namespace, ref.Name, patch.Definition)
		if !errors.Is(err, domain.ErrConflict) { // another request may have created it meanwhile
			return err
		}
	}
	if patch.IsEmpty() {
		return nil
	}
	return s.cfg.Store.UpdateDefinition(r.ctx(), r.caller, ref, patch)
}

func (s *Server) startIngestion(r *request, ref domain.DatasetRef) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	ingestion := f.newIngestion(list(f, "files", maxIngestFiles, "", fields.ingestFile))
	if err := r.err(); err != nil {
		return nil, err
	}
	return s.beginIngestion(r, ref, ingestion)
}

// newIngestion reads what ingestions of files have in common.
func (f fields) newIngestion(files []domain.IngestFile) domain.NewIngestion {
	ingestion := domain.NewIngestion{ID: domain.NewID(), Files: files}
	if f.has("id") {
		ingestion.ID = f.uuid("id")
	}
	ingestion.Name = f.optionalText("name", "", notEmpty(maxKey))
	mode := f.optionalText("mode", string(domain.IngestAppend), oneOf(domain.IngestAppend, domain.IngestReplace))
	ingestion.Mode = domain.IngestMode(mode)
	ingestion.Options = f.ingestOptions()
	return ingestion
}

type tableIngestionsJSON struct {
	Ingestions []tableIngestionJSON `json:"ingestions"`
}

type tableIngestionJSON struct {
	ID      string `json:"id"`
	Dataset string `json:"dataset"`
	Table   string `json:"table"`
}

func toTableIngestion(t domain.IngestTable) tableIngestionJSON { return tableIngestionJSON(t) }

// ingestTables starts an ingestion for each table of a file, into a dataset of its own; for a
// file that is one table, into the dataset. It is idempotent, like beginIngestion.
func (s *Server) ingestTables(r *request, ref domain.DatasetRef) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	source := f.ingestFile()
	ingestion := f.newIngestion([]domain.IngestFile{source})
	ingestion.Define = &domain.DefinitionPatch{}
	if ingestion.Options.Sheet != "" {
		f.check("options.sheet", "cannot be given: all tables are read")
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	if err := s.mayIngest(r, ref); err != nil {
		return nil, err
	}
	file, err := s.uploadedFile(r, source)
	if err != nil {
		return nil, err
	}
	tables, err := s.cfg.Datasets.Tables(r.ctx(), r.caller, file)
	if err != nil {
		return nil, err
	}
	started := []domain.IngestTable{{ID: ingestion.ID, Dataset: ref.Name}}
	switch len(tables) {
	case 0:
	case 1:
		started[0].Table = tables[0]
	default:
		started = domain.IngestTables(ref.Name, tables, func(table string) string { return derivedID(ingestion.ID, table) })
		ingestion.Tables = started
	}
	if _, err := s.beginIngestion(r, ref, ingestion); err != nil {
		return nil, err
	}
	return tableIngestionsJSON{Ingestions: toList(started, toTableIngestion)}, nil
}

// beginIngestion starts an ingestion; it is idempotent.
func (s *Server) beginIngestion(r *request, ref domain.DatasetRef, ingestion domain.NewIngestion) (any, error) {
	if err := s.cfg.Store.StartIngestion(r.ctx(), r.caller, ref, ingestion); err != nil {
		return nil, err
	}
	s.cfg.Datasets.Wake()
	return createdID{ID: ingestion.ID}, nil
}

// derivedID derives an id from another, so that a repeated request creates nothing twice.
func derivedID(id, what string) string {
	return uuid.NewSHA1(uuid.MustParse(id), []byte(what)).String()
}

func (f fields) ingestFile() domain.IngestFile {
	return domain.IngestFile{SessionID: f.uuid("sessionId"), FileID: f.uuid("fileId")}
}

func (s *Server) getAttempts(r *request, ref domain.DatasetRef) (any, error) {
	page := attemptsPage{PageSize: defaultAttempts}
	if text := r.Query("pageSize"); text != "" {
		page.PageSize = r.pageSize("pageSize", text, maxAttempts)
	}
	from := time.Now().Add(time.Hour) // the clocks of replicas may differ
	if text := r.Query("beforeCreatedAt"); text != "" {
		var err error
		if from, err = time.Parse(time.RFC3339, text); err != nil {
			r.check("beforeCreatedAt", notTime)
		}
		page.BeforeCreatedAt = &from
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	ingestions, err := s.cfg.Store.Ingestions(r.ctx(), r.caller, ref, from, page.PageSize)
	return attemptsJSON{Data: toList(ingestions, toAttempt), Metadata: page}, err
}

func (s *Server) retryIngestion(r *request, id string) (any, error) {
	again := derivedID(id, "retry")
	if err := s.cfg.Store.RetryIngestion(r.ctx(), r.caller, id, again); err != nil {
		return nil, err
	}
	s.cfg.Datasets.Wake()
	return createdID{ID: again}, nil
}
