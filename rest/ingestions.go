package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/storage"
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
	BeforeCreatedAt *time.Time `json:"beforeCreatedAt"`
}

type attemptJSON struct {
	ID                 string                  `json:"id"`
	Status             storage.IngestionStatus `json:"status"`
	StatusMessage      string                  `json:"statusMessage"`
	ProcessedBytes     int64                   `json:"processedBytes"`
	ExpectedTotalBytes int64                   `json:"expectedTotalBytes"`
	ProcessedRows      int64                   `json:"processedRows"`
	Attributes         attemptAttributes       `json:"attributes"`
}

type attemptAttributes struct {
	Name      string             `json:"name"`
	Mode      storage.IngestMode `json:"mode"`
	Seen      bool               `json:"seen"`
	CreatedAt time.Time          `json:"createdAt"`
}

func toAttempt(i storage.Ingestion) attemptJSON {
	return attemptJSON{
		ID:                 i.ID,
		Status:             i.Status,
		StatusMessage:      i.StatusMessage,
		ProcessedBytes:     i.ProcessedBytes,
		ExpectedTotalBytes: i.ExpectedBytes,
		ProcessedRows:      i.ProcessedRows,
		Attributes:         attemptAttributes{Name: i.Name, Mode: i.Mode, Seen: i.Seen, CreatedAt: i.CreatedAt},
	}
}

// appendRows adds the rows in the body to one of the caller's own datasets, and creates it
// if necessary.
func (s *Server) appendRows(c *gin.Context, caller storage.Caller) error {
	p := &path{Context: c, caller: caller}
	ref := storage.DatasetRef{Owner: caller.Username, Namespace: p.name("namespace"), Name: p.name("datasetName")}
	if err := p.err(); err != nil {
		return err
	}
	f, err := readFields(c, s.cfg.MaxRowsBody)
	if err != nil {
		return err
	}
	rows := f.rows("data")
	f.checkKeys("data", rows)
	patch, err := f.definition()
	if err != nil {
		return err
	}
	if err := s.ensureDataset(c, caller, ref, patch); err != nil {
		return err
	}
	if len(rows) > 0 {
		if err := s.cfg.Lake.AppendRows(c.Request.Context(), caller, ref, rows); err != nil {
			return wrongRows("data", err)
		}
	}
	c.PureJSON(http.StatusOK, indexedJSON{Indexed: len(rows)})
	return nil
}

// appendRowsToNew is appendRows for the route rowsForNew.
func (s *Server) appendRowsToNew(c *gin.Context, caller storage.Caller) error {
	c.Params = gin.Params{{Key: "namespace", Value: "new"}, {Key: "datasetName", Value: c.Param("namespace")}}
	return s.appendRows(c, caller)
}

// ensureDataset creates one of the caller's own datasets if necessary, and sets the given
// parts of its definition.
func (s *Server) ensureDataset(c *gin.Context, caller storage.Caller, ref storage.DatasetRef, patch storage.DefinitionPatch) error {
	ctx := c.Request.Context()
	_, err := s.cfg.Store.Dataset(ctx, caller, ref)
	if errors.Is(err, storage.ErrNotFound) && ref.Owner == caller.Username {
		err = s.cfg.Store.CreateDataset(ctx, caller, ref.Namespace, ref.Name, patch.Definition)
		if err == nil {
			return nil
		}
		if errors.Is(err, storage.ErrConflict) {
			err = nil // created by another request in between
		}
	}
	if err != nil {
		return err
	}
	if !patch.SetDescription && !patch.SetSchema {
		return nil
	}
	return s.cfg.Store.UpdateDefinition(ctx, caller, ref, patch)
}

func (s *Server) startIngestion(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	ingestion := storage.NewIngestion{ID: storage.NewID(), Mode: storage.IngestAppend, Files: f.ingestFiles()}
	if f.has("id") {
		ingestion.ID = f.id("id")
	}
	if f.has("name") {
		ingestion.Name = f.checkedText("name", notEmpty)
	}
	if f.has("mode") {
		mode := f.checkedText("mode", func(mode string) string {
			if mode != string(storage.IngestAppend) && mode != string(storage.IngestReplace) {
				return "must be 'append' or 'replace'"
			}
			return ""
		})
		ingestion.Mode = storage.IngestMode(mode)
	}
	if err := f.err(); err != nil {
		return err
	}
	return s.beginIngestion(c, caller, ref, ingestion, http.StatusAccepted)
}

// beginIngestion starts an ingestion; it is idempotent.
func (s *Server) beginIngestion(c *gin.Context, caller storage.Caller, ref storage.DatasetRef, ingestion storage.NewIngestion, status int) error {
	if err := s.cfg.Store.StartIngestion(c.Request.Context(), caller, ref, ingestion); err != nil {
		return err
	}
	s.cfg.Lake.Wake()
	c.PureJSON(status, createdID{ID: ingestion.ID})
	return nil
}

// derivedID derives an id from another, so that a repeated request creates nothing twice.
func derivedID(id, what string) string {
	return uuid.NewSHA1(uuid.MustParse(id), []byte(what)).String()
}

func (f fields) ingestFiles() []storage.IngestFile {
	if !f.has("files") {
		f.refuse("files", "is required")
		return nil
	}
	before := len(*f.wrong)
	objects := f.objects("files")
	if n := len(objects); len(*f.wrong) == before && (n == 0 || n > maxIngestFiles) {
		f.refuse("files", fmt.Sprintf("must have 1 to %d entries", maxIngestFiles))
		return nil
	}
	files := make([]storage.IngestFile, len(objects))
	for i, object := range objects {
		if object.members != nil {
			files[i] = storage.IngestFile{SessionID: object.id("sessionId"), FileID: object.id("fileId")}
		}
	}
	return files
}

// id reads a required UUID.
func (f fields) id(name string) string {
	var id string
	f.checkedText(name, func(text string) string {
		parsed, err := uuid.Parse(text)
		if err != nil {
			return "must be a UUID"
		}
		id = parsed.String()
		return ""
	})
	return id
}

func (s *Server) getAttempts(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	size, before, err := readAttemptsPage(c)
	if err != nil {
		return err
	}
	from := time.Now().Add(time.Hour) // the clocks of replicas may differ
	if before != nil {
		from = *before
	}
	ingestions, err := s.cfg.Store.Ingestions(c.Request.Context(), caller, ref, from, size)
	if err != nil {
		return err
	}
	answer := attemptsJSON{Data: make([]attemptJSON, len(ingestions)), Metadata: attemptsPage{PageSize: size, BeforeCreatedAt: before}}
	for i, ingestion := range ingestions {
		answer.Data[i] = toAttempt(ingestion)
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

func readAttemptsPage(c *gin.Context) (size int, before *time.Time, err error) {
	p := &path{Context: c}
	size = defaultAttempts
	if text := c.Query("pageSize"); text != "" {
		if size, err = strconv.Atoi(text); err != nil || size < 1 || size > maxAttempts {
			p.check("pageSize", fmt.Sprintf("must be 1 to %d", maxAttempts))
		}
	}
	if text := c.Query("beforeCreatedAt"); text != "" {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			p.check("beforeCreatedAt", "must be a time as in 2030-12-31T23:59:59Z")
		}
		before = &at
	}
	return size, before, p.err()
}

func (s *Server) retryIngestion(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "ingestionId")
	if err != nil {
		return err
	}
	again := derivedID(id, "retry")
	if err := s.cfg.Store.RetryIngestion(c.Request.Context(), caller, id, again); err != nil {
		return err
	}
	s.cfg.Lake.Wake()
	c.PureJSON(http.StatusCreated, createdID{ID: again})
	return nil
}

func (s *Server) markIngestionSeen(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "ingestionId")
	if err != nil {
		return err
	}
	if err := s.cfg.Store.MarkIngestionSeen(c.Request.Context(), caller, id); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
