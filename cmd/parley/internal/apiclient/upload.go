package apiclient

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"golang.org/x/sync/errgroup"

	"parley/internal/retry"
)

const (
	// partsAtOnce is how many parts of a file are sent in parallel.
	partsAtOnce = 4
	// partStall is how long sending a part may stall.
	partStall = 2 * time.Minute
	// maxParts is more than any server asks for.
	maxParts = 10_000
)

// File is a file to upload.
type File struct {
	Name string
	*io.SectionReader
}

// Upload is an upload session and the ingestion that follows. Saved as JSON, it can be
// resumed.
type Upload struct {
	SessionID string   `json:"sessionId"`
	FileIDs   []string `json:"fileIds"`
	// IngestionID is the id of the ingestion that follows.
	IngestionID string `json:"ingestionId"`
}

// Progress is that of a file. It may be read at any time.
type Progress struct {
	// There is how many bytes the server had at the start, Sent how many were sent since.
	There, Sent atomic.Int64
	known       bool
}

// stored sets how many bytes the server has, while none are being sent.
func (p *Progress) stored(bytes int64) {
	if !p.known {
		p.known = true
		p.There.Store(bytes)
	}
	p.Sent.Store(bytes - p.There.Load())
}

// Upload sends files, one after the other.
func (c *Client) Upload(ctx context.Context, files []File) (Upload, error) {
	upload, err := c.PrepareUpload(ctx, files)
	if err != nil {
		return Upload{}, err
	}
	for i, file := range files {
		if err := c.SendFile(ctx, upload, i, file, new(Progress)); err != nil {
			return Upload{}, err
		}
	}
	return upload, nil
}

// PrepareUpload starts an upload of files, in their order.
func (c *Client) PrepareUpload(ctx context.Context, files []File) (Upload, error) {
	wanted := make([]map[string]any, len(files))
	for i, file := range files {
		wanted[i] = map[string]any{"filename": file.Name, "size": file.Size()}
	}
	var prepared struct {
		SessionID string
		Files     []struct{ FileID string }
	}
	// A session that is prepared twice, because a response was lost, expires.
	err := c.CallWithRetry(ctx, http.MethodPost, "/file-upload/prepare", map[string]any{"filesToUpload": wanted}, &prepared)
	if err == nil && len(prepared.Files) != len(files) {
		err = fmt.Errorf("the server prepared %d files for %d", len(prepared.Files), len(files))
	}
	if err != nil {
		return Upload{}, fmt.Errorf("prepare an upload: %w", err)
	}
	upload := Upload{SessionID: prepared.SessionID, IngestionID: uuid.NewString()}
	for _, file := range prepared.Files {
		upload.FileIDs = append(upload.FileIDs, file.FileID)
	}
	return upload, nil
}

// SendFile sends the missing parts of the file at an index of an upload and finishes it.
// It retries with new URLs as long as there is progress. An upload that has ended or is
// unknown is ErrUploadGone.
func (c *Client) SendFile(ctx context.Context, upload Upload, place int, file File, progress *Progress) error {
	path := "/file-upload/" + url.PathEscape(upload.SessionID) + "/files/" + url.PathEscape(upload.FileIDs[place])
	s := sending{client: c, file: file, progress: progress, path: path}
	attempts := retry.New(retryPolicy)
	if err := attempts.Do(ctx, func() error {
		progressed, err := s.round(ctx)
		if progressed {
			attempts.Reset()
		}
		return err
	}); err != nil {
		return fmt.Errorf("send %s: %w", file.Name, err)
	}
	return nil
}

// sending is a file being sent.
type sending struct {
	client   *Client
	path     string
	file     File
	progress *Progress
}

// fileParts is the state of an uploaded file.
type fileParts struct {
	UploadID, Key, FileStatus string
	Parts                     []filePart
}

// filePart has the ETag of a part that the server has, or the URL of a missing one.
type filePart struct {
	PartNumber int
	PartSize   int64
	ETag, URL  string
}

// round sends the missing parts and finishes. It reports whether a part was stored.
func (s *sending) round(ctx context.Context) (progressed bool, err error) {
	var now fileParts
	err = s.client.Call(ctx, http.MethodGet, s.path+"/parts", nil, &now)
	switch status := Status(err); {
	case status == http.StatusNotFound, status == http.StatusUnprocessableEntity:
		return false, fmt.Errorf("%w: %w", ErrUploadGone, err)
	case err != nil:
		return false, fmt.Errorf("ask which parts are missing: %w", err)
	case now.FileStatus == "completed":
		s.progress.stored(s.file.Size())
		return true, nil
	}
	if err := now.fit(s.file.Size()); err != nil {
		return false, err
	}
	s.progress.stored(now.stored())
	progressed, err = s.sendMissing(ctx, now.Parts)
	if err == nil {
		err = s.finish(ctx, now)
	}
	return progressed, err
}

// fit checks that the parts add up to the file.
func (p fileParts) fit(size int64) error {
	if len(p.Parts) > maxParts {
		return fmt.Errorf("the server requests %d parts for a file", len(p.Parts))
	}
	for i, part := range p.Parts {
		if part.PartNumber != i+1 || part.PartSize <= 0 || part.PartSize > size {
			return fmt.Errorf("the server requests part %d of a file with %d bytes", part.PartNumber, part.PartSize)
		}
		size -= part.PartSize
	}
	if size != 0 {
		return errors.New("the parts of the server do not match the file")
	}
	return nil
}

// stored is how many bytes the server has.
func (p fileParts) stored() (bytes int64) {
	for _, part := range p.Parts {
		if part.ETag != "" {
			bytes += part.PartSize
		}
	}
	return bytes
}

// sendMissing sends the parts without an ETag and sets it. After a failure it starts no
// more.
func (s *sending) sendMissing(ctx context.Context, parts []filePart) (progressed bool, err error) {
	var group errgroup.Group
	group.SetLimit(partsAtOnce)
	var came, failed atomic.Bool
	offset := int64(0)
	for i := range parts {
		part, at := &parts[i], offset
		offset += part.PartSize
		if part.ETag != "" {
			continue
		}
		group.Go(func() (err error) {
			if failed.Load() {
				return nil
			}
			part.ETag, err = s.client.sendPart(ctx, part.URL, io.NewSectionReader(s.file, at, part.PartSize), &s.progress.Sent)
			if err != nil {
				failed.Store(true)
				return fmt.Errorf("send part %d: %w", part.PartNumber, err)
			}
			came.Store(true)
			return nil
		})
	}
	err = group.Wait()
	return came.Load(), err
}

func (s *sending) finish(ctx context.Context, now fileParts) error {
	type sentPart struct {
		Number int    `json:"partNumber"`
		ETag   string `json:"etag"`
	}
	parts := make([]sentPart, len(now.Parts))
	for i, part := range now.Parts {
		parts[i] = sentPart{part.PartNumber, part.ETag}
	}
	body := map[string]any{"uploadId": now.UploadID, "key": now.Key, "parts": parts}
	if err := s.client.callWithin(ctx, finishLimit, http.MethodPost, s.path+"/finish", body, nil); err != nil {
		return fmt.Errorf("finish an upload: %w", err)
	}
	return nil
}

// sendPart sends a part to its URL, once, and returns its ETag. sent counts the bytes,
// and is set back after a failure.
func (c *Client) sendPart(ctx context.Context, address string, part *io.SectionReader, sent *atomic.Int64) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(partStall, func() { cancel(errSilent) })
	defer stall.Stop()
	body := &partBody{part: part, stall: stall, sent: sent}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, body)
	if err != nil {
		return "", errors.New("the server sent an invalid address for a part")
	}
	request.ContentLength = part.Size()
	// Without it, an error response would be lost while the part is sent.
	request.Header.Set("Expect", "100-continue")
	header, _, err := c.Do(request)
	switch {
	case err == nil:
		return header.Get("ETag"), nil
	case body.err.Load() != nil:
		err = *body.err.Load() // the file failed, not the network
	case Status(err) == http.StatusForbidden, Status(err) == http.StatusNotFound:
		err = &staleError{err}
	}
	sent.Add(-body.read.Load())
	return "", err
}

// ErrUploadGone is an upload that has ended or is unknown.
var ErrUploadGone = errors.New("the server no longer has the upload")

// staleError is a URL that has expired, or whose upload has ended: the next request for
// the parts tells.
type staleError struct{ error }

func (e *staleError) Unwrap() error { return e.error }

// partBody reads a part and counts it.
type partBody struct {
	part  *io.SectionReader
	stall *time.Timer
	sent  *atomic.Int64
	read  atomic.Int64
	err   atomic.Pointer[error]
}

func (b *partBody) Read(p []byte) (int, error) {
	n, err := b.part.Read(p)
	b.stall.Reset(partStall)
	b.read.Add(int64(n))
	b.sent.Add(int64(n))
	switch {
	case err == io.EOF && b.read.Load() < b.part.Size():
		err = errors.New("the file became shorter")
		b.err.Store(&err)
	case err != nil && err != io.EOF:
		err = fmt.Errorf("read the file: %w", err)
		b.err.Store(&err)
	}
	return n, err
}
