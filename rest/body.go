package rest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"parley/internal/domain"
)

// Media types of request bodies.
const (
	mediaJSON = "application/json"
	mediaText = "text/plain"
)

// readBytes reads a body of at most limit bytes with the wanted media type. A body without
// a media type is accepted.
func readBytes(c *gin.Context, limit int64, wanted string) ([]byte, error) {
	if header := c.GetHeader("Content-Type"); header != "" {
		mediaType, params, err := mime.ParseMediaType(header)
		charset := params["charset"]
		if err != nil || !accepts(wanted, mediaType) || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return nil, domain.Errorf(errUnsupportedMedia, "send this as Content-Type: %s, in UTF-8", wanted)
		}
	}
	if encoding := c.GetHeader("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, domain.Errorf(errUnsupportedMedia, "send this without Content-Encoding")
	}
	tooLarge := domain.Errorf(errTooLarge, "the body is larger than %d bytes", limit)
	if c.Request.ContentLength > limit {
		return nil, tooLarge
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	var exceeded *http.MaxBytesError
	switch {
	case errors.As(err, &exceeded):
		return nil, tooLarge
	case errors.Is(err, domain.ErrTooMany), errors.Is(err, domain.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return nil, err // it got no slot
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, errSlowBody
	case err != nil:
		return nil, fmt.Errorf("%w: read body: %w", errBadRequest, err)
	}
	return body, nil
}

// accepts reports whether a media type is the wanted one; for JSON, also a type based on it.
func accepts(wanted, mediaType string) bool {
	return mediaType == wanted || wanted == mediaJSON &&
		strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
}

// smallBody is the largest body that is decoded at once: that takes about a millisecond.
const smallBody = 64 << 10

// body reads a text body, unless an error was recorded before.
func (r *request) body(limit int64, wanted string) []byte {
	if r.failed = r.err(); r.failed != nil {
		return nil
	}
	body, err := readBytes(r.Context, limit, wanted)
	if err == nil && !utf8.Valid(body) {
		err = domain.Errorf(errBadRequest, "the body is not UTF-8")
	}
	if err == nil && r.afterBody != nil {
		err = r.afterBody()
	}
	if err == nil && len(body) > smallBody {
		r.decoding, err = r.startDecoding()
	}
	if r.failed = err; err != nil {
		return nil
	}
	return body
}

func (r *request) newName(limit int64) string {
	name := strings.TrimSpace(string(r.body(limit, mediaText)))
	r.check("name", domain.CheckName(name))
	return name
}

// fields reads a body that must be a JSON object.
func (r *request) fields(limit int64) fields {
	f := fields{request: r}
	body := r.body(limit, mediaJSON)
	err := json.Unmarshal(body, &f.members)
	var syntax *json.SyntaxError
	switch {
	case r.failed != nil:
	case len(bytes.TrimSpace(body)) == 0:
		r.failed = domain.Errorf(errBadRequest, "the body is not JSON: it is empty")
	case errors.As(err, &syntax):
		r.failed = domain.Errorf(errBadRequest, "the body is not JSON: %s, at byte %d", syntax, syntax.Offset)
	case err != nil || f.members == nil:
		r.failed = domain.Invalid(domain.FieldError{Field: "body", Message: "must be a JSON object"})
	}
	return f
}

// optionalFields is fields for an optional body.
func (r *request) optionalFields(limit int64) fields {
	first := make([]byte, 1)
	if _, err := io.ReadFull(r.Request.Body, first); errors.Is(err, io.EOF) {
		return fields{request: r}
	}
	r.Request.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first), r.Request.Body), r.Request.Body}
	return r.fields(limit)
}

// toList converts the items of a list, which is [] when there are none.
func toList[T, J any](items []T, convert func(T) J) []J {
	list := make([]J, len(items))
	for i, item := range items {
		list[i] = convert(item)
	}
	return list
}

// orEmpty makes a nil list encode as [].
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// orNull makes an empty text encode as null.
func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}
