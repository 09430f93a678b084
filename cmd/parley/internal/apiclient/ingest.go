package apiclient

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

const (
	// ingestionsPage is how many ingestions a page of a list has.
	ingestionsPage = 100
	// An ingestion is looked at after these pauses, the first and the longest.
	firstPoll, maxPoll = 10 * time.Millisecond, time.Second
)

var (
	// ErrNotIngested is for files that are no rows of a dataset now, and why.
	ErrNotIngested = errors.New("was not ingested")
	// ErrNoIngestion is for an ingestion that a server does not know.
	ErrNoIngestion = errors.New("the server does not know the ingestion: perhaps the dataset was deleted")
)

// Ingestion is files becoming rows of a dataset.
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
	} `json:"attributes"`
}

// Completed reports whether the rows are there.
func (i Ingestion) Completed() bool { return i.Status == "completed" }

// IngestOptions says how files are to be ingested.
type IngestOptions struct {
	// Mode is append or replace, "" for append.
	Mode string
	// Name is what the ingestion is shown as, "" for the files' names.
	Name string
}

// StartIngestion has the files of an upload ingested into a dataset, given by its
// path: /owner/namespace/name. Done again, it changes nothing.
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
	if err := c.CallWithRetry(ctx, http.MethodPost, "/data"+dataset+"/ingest", body, nil); err != nil {
		return fmt.Errorf("start the ingestion: %w", err)
	}
	return nil
}

// Ingestions lists those of a dataset, the newest first. Of two that began at the
// same time, one may come twice.
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
			// The next page has the last one's millisecond again, if that is progressed.
			last := page.Data[len(page.Data)-1].Attributes.CreatedAt
			next := last.Add(time.Millisecond)
			if !before.IsZero() && !next.Before(before) {
				next = last
			}
			if !before.IsZero() && !next.Before(before) {
				return // the server leads nowhere
			}
			before = next
			query.Set("beforeCreatedAt", before.Format(time.RFC3339Nano))
		}
	}
}

// Ingestion gives one of a dataset, or ErrNoIngestion.
func (c *Client) Ingestion(ctx context.Context, dataset, id string) (Ingestion, error) {
	for i, err := range c.Ingestions(ctx, dataset) {
		if err != nil || i.ID == id {
			return i, err
		}
	}
	return Ingestion{}, ErrNoIngestion
}

// WaitForIngestion waits until an ingestion has ended; onProgress is told how far it
// is, now and then. One that failed is ErrNotIngested.
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

// Ingested waits until an ingestion has added its rows.
func (c *Client) Ingested(ctx context.Context, ref Ref, id string) error {
	_, err := c.WaitForIngestion(ctx, ref.Path(""), id, func(Ingestion) {})
	if errors.Is(err, ErrNotIngested) {
		return fmt.Errorf("%s %w", ref, err)
	}
	return err
}
