package apiclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"parley/internal/domain"
)

const (
	// ingestionsPage is how many ingestions a page of a list has.
	ingestionsPage = 100
	// The pauses between polls grow from the first to the longest.
	firstPoll, maxPoll = 10 * time.Millisecond, time.Second
)

var (
	// ErrNotIngested is a failed ingestion.
	ErrNotIngested = errors.New("was not ingested")
	// ErrNoIngestion is an unknown ingestion.
	ErrNoIngestion = errors.New("ingestion not found: the dataset may have been deleted")
)

// Ingestion adds files to a dataset as rows.
type Ingestion struct {
	ID                 string `json:"id"`
	Status             string `json:"status"`
	StatusMessage      string `json:"statusMessage"`
	ProcessedBytes     int64  `json:"processedBytes"`
	ExpectedTotalBytes int64  `json:"expectedTotalBytes"`
	ProcessedRows      int64  `json:"processedRows"`
	Attributes         struct {
		Name      string    `json:"name"`
		Mode      string    `json:"mode"`
		CreatedAt time.Time `json:"createdAt"`
		domain.IngestReport
	} `json:"attributes"`
}

// Completed reports whether the rows were added.
func (i Ingestion) Completed() bool { return i.Status == "completed" }

// IngestOptions are those of an ingestion.
type IngestOptions struct {
	// Mode is append or replace, "" for append.
	Mode string
	// Name is shown in lists, "" for the names of the files.
	Name string
	// Options say how the files are read.
	Options domain.IngestOptions
}

// StartIngestion starts the ingestion of an upload into a dataset, given by its path:
// /owner/namespace/name. A second call changes nothing.
func (c *Client) StartIngestion(ctx context.Context, dataset string, upload Upload, options IngestOptions) error {
	files := make([]map[string]string, len(upload.FileIDs))
	for i, id := range upload.FileIDs {
		files[i] = map[string]string{"sessionId": upload.SessionID, "fileId": id}
	}
	body := map[string]any{"files": files, "id": upload.IngestionID}
	if options.Mode != "" {
		body["mode"] = options.Mode
	}
	if options.Name != "" {
		body["name"] = options.Name
	}
	if !options.Options.Equal(domain.IngestOptions{}) {
		body["options"] = options.Options
	}
	if err := c.CallWithRetry(ctx, http.MethodPost, "/data"+dataset+"/ingest", body, nil); err != nil {
		return fmt.Errorf("start the ingestion: %w", err)
	}
	return nil
}

// Ingestions lists those of a dataset, the newest first. Of two that started at the same
// time, one may be repeated.
func (c *Client) Ingestions(ctx context.Context, dataset string) iter.Seq2[Ingestion, error] {
	return func(yield func(Ingestion, error) bool) {
		query := url.Values{"pageSize": {strconv.Itoa(ingestionsPage)}}
		for before := (time.Time{}); ; {
			var page struct{ Data []Ingestion }
			if err := c.CallWithRetry(ctx, http.MethodGet, "/data"+dataset+"/ingest/attempts?"+query.Encode(), nil, &page); err != nil {
				yield(Ingestion{}, fmt.Errorf("list the ingestions: %w", err))
				return
			}
			for _, i := range page.Data {
				if !yield(i, nil) {
					return
				}
			}
			if len(page.Data) < ingestionsPage {
				return
			}
			// The next page repeats the last millisecond, if that makes progress.
			last := page.Data[len(page.Data)-1].Attributes.CreatedAt
			next := last.Add(time.Millisecond)
			if !before.IsZero() && !next.Before(before) {
				next = last
			}
			if !before.IsZero() && !next.Before(before) {
				return // no progress
			}
			before = next
			query.Set("beforeCreatedAt", before.Format(time.RFC3339Nano))
		}
	}
}

// Ingestion returns one of a dataset, or ErrNoIngestion.
func (c *Client) Ingestion(ctx context.Context, dataset, id string) (Ingestion, error) {
	for i, err := range c.Ingestions(ctx, dataset) {
		if err != nil || i.ID == id {
			return i, err
		}
	}
	return Ingestion{}, ErrNoIngestion
}

// WaitForIngestion waits for the end of an ingestion and calls onProgress meanwhile. A
// failed one is ErrNotIngested.
func (c *Client) WaitForIngestion(ctx context.Context, dataset, id string, onProgress func(Ingestion)) (Ingestion, error) {
	for pause := firstPoll; ; pause = min(2*pause, maxPoll) {
		now, err := c.Ingestion(ctx, dataset, id)
		switch {
		case err != nil || now.Completed():
			return now, err
		case now.Status == "failed":
			return now, fmt.Errorf("%w: %s", ErrNotIngested, now.StatusMessage)
		}
		onProgress(now)
		select {
		case <-ctx.Done():
			return now, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// Ingested is WaitForIngestion without progress, with the dataset in the error.
func (c *Client) Ingested(ctx context.Context, ref Ref, id string) error {
	_, err := c.WaitForIngestion(ctx, ref.Path(""), id, func(Ingestion) {})
	if errors.Is(err, ErrNotIngested) {
		return fmt.Errorf("%s %w", ref, err)
	}
	return err
}

// FilePreview is what an ingestion would make of a file.
type FilePreview struct {
	Tables    []TablePreview `json:"tables"`
	Encoding  string         `json:"encoding,omitempty"`
	Delimiter string         `json:"delimiter,omitempty"`
	HeaderRow int            `json:"headerRow,omitempty"`
}

// TablePreview is a table of a file.
type TablePreview struct {
	Name     string                 `json:"name"`
	Columns  []ColumnPreview        `json:"columns"`
	Rows     []json.RawMessage      `json:"rows"`
	RowCount int64                  `json:"rowCount"`
	Warnings []domain.IngestWarning `json:"warnings"`
}

// ColumnPreview is a column of a table, with some of its first values.
type ColumnPreview struct {
	domain.ColumnReport
	Examples []json.RawMessage `json:"examples"`
}

// previewLimit is longer than a server reads a file.
const previewLimit = 11 * time.Minute

// PreviewFiles asks what an ingestion of the files of an upload into a dataset would make.
func (c *Client) PreviewFiles(ctx context.Context, upload Upload, into Ref, how IngestOptions) (FilePreview, error) {
	files := make([]map[string]any, len(upload.FileIDs))
	for i, id := range upload.FileIDs {
		files[i] = map[string]any{"sessionId": upload.SessionID, "fileId": id}
	}
	body := map[string]any{"files": files, "username": into.Owner, "namespace": into.Namespace, "dataset": into.Name, "mode": how.Mode, "options": how.Options}
	var preview FilePreview
	if err := c.callWithin(ctx, previewLimit, http.MethodPost, "/ingest/preview", body, &preview); err != nil {
		return FilePreview{}, fmt.Errorf("preview the file: %w", err)
	}
	return preview, nil
}
