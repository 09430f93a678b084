package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// maxDocument is the largest public document that is read.
const maxDocument = 1 << 20

// Fetch reads a document at an address, with a token or without. It follows no
// redirection: who asks must know whose word it is. An answer that says no is a
// *StatusError, none within a minute an *UnreachableError.
func Fetch(ctx context.Context, address, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, errSilent)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, unreachable(request, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, unreachable(request, err)
	case len(text) > maxDocument:
		return nil, fmt.Errorf("the document at %s is larger than %d bytes", address, maxDocument)
	case response.StatusCode != http.StatusOK:
		return nil, refusal(response.StatusCode, response.Header, text)
	}
	return text, nil
}

// Download gets the file at a path below the interface's root, and its size. The server may
// take finishLimit to begin, and pause for partStall.
func (c *Client) Download(ctx context.Context, path string) (io.ReadCloser, int64, error) {
	body, response, err := c.download(ctx, http.MethodGet, path, http.NoBody, "")
	if err != nil {
		return nil, 0, err
	}
	return body, response.ContentLength, nil
}

// mediaLines is the media type of rows, one in each line.
const mediaLines = "application/x-ndjson"

// Rows are all rows of a query, a JSON object in each line.
type Rows struct {
	io.ReadCloser
	// Size is -1 if it is not known.
	Size int64
	// Columns are the names of the columns if there are no rows.
	Columns []string
}

// QueryRows runs a query and gets all its rows. Its limits are those of Download.
func (c *Client) QueryRows(ctx context.Context, query any) (rows Rows, err error) {
	request, err := json.Marshal(query)
	if err != nil {
		return rows, fmt.Errorf("write a request: %w", err)
	}
	body, response, err := c.download(ctx, http.MethodPost, "/query", bytes.NewReader(request), mediaLines)
	if err != nil {
		return rows, err
	}
	rows.ReadCloser, rows.Size = body, response.ContentLength
	if names := response.Header.Get("X-Columns"); names != "" {
		if json.Unmarshal([]byte(names), &rows.Columns) != nil {
			_ = body.Close()
			return rows, &ForeignError{c.base, "a result with unreadable columns"}
		}
	}
	return rows, nil
}

// download gets a file of a media type, "" for any. The body of the response is that of the file.
func (c *Client) download(ctx context.Context, method, path string, body io.Reader, mediaType string) (io.ReadCloser, *http.Response, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	request, err := c.request(ctx, method, path, body)
	if err != nil {
		cancel(nil)
		return nil, nil, err
	}
	if mediaType != "" {
		request.Header.Set("Accept", mediaType)
	}
	file := &download{request: request, cancel: cancel, silence: time.AfterFunc(finishLimit, func() { cancel(errSilent) })}
	response, err := c.send(request)
	if err != nil {
		file.silence.Stop()
		defer cancel(nil)
		return nil, nil, err
	}
	file.body = response.Body
	if response.StatusCode != http.StatusOK {
		defer file.Close()
		answer, err := io.ReadAll(io.LimitReader(file, maxDocument))
		if err != nil {
			return nil, nil, err
		}
		return nil, nil, ofParley(request, refusal(response.StatusCode, response.Header, answer))
	}
	if got := response.Header.Get("Content-Type"); mediaType != "" && got != mediaType {
		defer file.Close()
		return nil, nil, fmt.Errorf("the server sends no %s, but %s: it may be older than this program", mediaType, got)
	}
	return file, response, nil
}

// download is the body of a response. It ends when the server sends nothing for long.
type download struct {
	body    io.ReadCloser
	request *http.Request
	silence *time.Timer
	cancel  context.CancelCauseFunc
}

func (d *download) Read(p []byte) (int, error) {
	d.silence.Reset(partStall)
	n, err := d.body.Read(p)
	if err != nil && err != io.EOF {
		err = unreachable(d.request, err)
	}
	return n, err
}

func (d *download) Close() error {
	d.silence.Stop()
	d.cancel(nil)
	return d.body.Close()
}
