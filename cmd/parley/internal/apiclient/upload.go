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
	// partsAtOnce is how many parts of a file are on their way at a time.
	partsAtOnce = 4
	// partStall is how long a part may stand still.
	partStall = 2 * time.Minute
	// maxParts is more than any server cuts a file into.
	maxParts = 10_000
)

// File is a file to upload.
type File struct {
	Name string
	*io.SectionReader
}

// Upload is some files on their way to a server, and on into a dataset. Kept as
// JSON, it can be gone on with.
type Upload struct {
	SessionID string   `json:"sessionId"`
	FileIDs   []string `json:"fileIds"`
	// IngestionID is the one that their ingestion gets.
	IngestionID string `json:"ingestionId"`
}

// Progress is how far a file is on its way. It may be looked at all the time.
type Progress struct {
	// There is how many bytes the server had when the sending began, Sent how many
	// have gone out since.
	There, Sent atomic.Int64
	known       bool
}

// stored says how many bytes the server has, while none are on their way.
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

// PrepareUpload begins to upload files, whose order it keeps.
func (c *Client) PrepareUpload(ctx context.Context, files []File) (Upload, error) {
	wanted := make([]map[string]any, len(files))
	for i, file := range files {
		wanted[i] = map[string]any{"filename": file.Name, "size": file.Size()}
	}
	var prepared struct {
		SessionID string
		Files     []struct{ FileID string }
	}
	// What is prepared twice, because an answer was lost, goes after a while.
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

// SendFile sends what a server lacks of a file of an upload, the one in that place,
// several parts at a time, and has it made whole. What fails is tried again, at new
// addresses, until nothing has gone right for a while. An upload that has ended, or
// never was, is ErrUploadGone.
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

// sending is a file on its way.
type sending struct {
	client   *Client
	path     string
	file     File
	progress *Progress
}

// fileParts is how far the upload of a file is.
type fileParts struct {
	UploadID, Key, FileStatus string
	Parts                     []filePart
}

// filePart is a part that the server has, with its ETag, or one that it lacks, with
// the address for it.
type filePart struct {
	PartNumber int
	PartSize   int64
	ETag, URL  string
}

// round sends all parts that are missing, and finishes. It gets progressed when a part
// came in.
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

// fit checks that the parts make up a file.
func (p fileParts) fit(size int64) error {
	if len(p.Parts) > maxParts {
		return fmt.Errorf("the server wants %d parts of a file", len(p.Parts))
	}
	for i, part := range p.Parts {
		if part.PartNumber != i+1 || part.PartSize <= 0 || part.PartSize > size {
			return fmt.Errorf("the server wants part %d of a file to have %d bytes", part.PartNumber, part.PartSize)
		}
		size -= part.PartSize
	}
	if size != 0 {
		return errors.New("the server wants parts that do not make up the file")
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

// sendMissing sends the parts that have no ETag, which they get. After a failure no
// more are begun.
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

// sendPart sends a part to its address, once, and gives its ETag. sent grows as it
// goes out, and shrinks again when that fails.
func (c *Client) sendPart(ctx context.Context, address string, part *io.SectionReader, sent *atomic.Int64) (string, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stall := time.AfterFunc(partStall, func() { cancel(errSilent) })
	defer stall.Stop()
	body := &partBody{part: part, stall: stall, sent: sent}
	request, err := http.NewRequestWithContext(ctx, http.MethodPut, address, body)
	if err != nil {
		return "", errors.New("the server gave an address for a part that is none")
	}
	request.ContentLength = part.Size()
	// A refusal is to be read, rather than run into while the part goes out.
	request.Header.Set("Expect", "100-continue")
	header, _, err := c.Do(request)
	switch {
	case err == nil:
		return header.Get("ETag"), nil
	case body.err.Load() != nil:
		err = *body.err.Load() // the network is not to blame
	case Status(err) == http.StatusForbidden, Status(err) == http.StatusNotFound:
		err = &staleError{err}
	}
	sent.Add(-body.read.Load())
	return "", err
}

// ErrUploadGone is an upload that cannot go on: it was ended, or is not known.
var ErrUploadGone = errors.New("the server does not know the upload any more")

// staleError is an address that is good no more: it has expired, or the upload has
// ended. Asking for the parts again tells.
type staleError struct{ error }

func (e *staleError) Unwrap() error { return e.error }

// partBody reads a part and says how it moves.
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
		err = errors.New("the file has become shorter")
		b.err.Store(&err)
	case err != nil && err != io.EOF:
		err = fmt.Errorf("read the file: %w", err)
		b.err.Store(&err)
	}
	return n, err
}
