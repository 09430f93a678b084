package rest

import (
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"

	"parley/internal/domain"
	"parley/internal/fair"
)

// downloadTypes are the media types of downloads.
var downloadTypes = map[domain.DownloadFormat]string{
	domain.DownloadCSV:     "text/csv; charset=utf-8",
	domain.DownloadParquet: "application/vnd.apache.parquet",
}

// mediaLines is the media type of rows, one in each line.
const mediaLines = "application/x-ndjson"

// downloadChunk is how many bytes are sent before the caller's token is checked again.
const downloadChunk = 1 << 20

// getDownload answers with all rows of a dataset as a file.
func (s *Server) getDownload(r *request) error {
	ref, as := r.dataset(), domain.Download{Format: domain.DownloadCSV}
	if format := r.Query("format"); format != "" {
		r.check("format", oneOf("csv", "parquet")(format))
		as.Format = domain.DownloadFormat(format)
	}
	if escape := r.Query("escapeFormulas"); escape != "" {
		r.check("escapeFormulas", oneOf("true", "false")(escape))
		as.EscapeFormulas = escape == "true"
	}
	if err := r.err(); err != nil {
		return err
	}
	return s.sendDownload(r, s.downloads, downloadTypes[as.Format], ref.Name+"."+string(as.Format), func() (*os.File, error) {
		return s.cfg.Datasets.Download(r.ctx(), r.caller, ref, as)
	})
}

// sendDownload makes a file when there is a slot, and answers with it.
func (s *Server) sendDownload(r *request, queue *fair.Queue, mediaType, name string, download func() (*os.File, error)) error {
	slot, err := s.acquire(r.ctx(), queue, r.caller.Username)
	if err != nil {
		return err
	}
	defer slot.Release()
	defer s.extendDeadlines(r.Context)()
	file, err := download()
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	r.Header("Content-Type", mediaType)
	r.Header("Content-Length", strconv.FormatInt(info.Size(), 10))
	r.Header("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": name}))
	r.Status(http.StatusOK)
	for {
		_, err := io.CopyN(r.Writer, file, downloadChunk)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case r.ctx().Err() != nil:
			return r.ctx().Err()
		}
	}
}
