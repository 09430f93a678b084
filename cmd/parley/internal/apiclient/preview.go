package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"parley/internal/domain"
)

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
