package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

// readBody reads a text body: see readBytes.
func readBody(c *gin.Context, limit int64, wanted string, accept func(mediaType string) bool) ([]byte, error) {
	body, err := readBytes(c, limit, wanted, accept)
	if err == nil && !utf8.Valid(body) {
		err = storage.Errorf(errBadRequest, "the body is not UTF-8")
	}
	return body, err
}

// readBytes reads a body of at most limit bytes with an accepted media type. A body without
// a media type is accepted.
func readBytes(c *gin.Context, limit int64, wanted string, accept func(mediaType string) bool) ([]byte, error) {
	if header := c.GetHeader("Content-Type"); header != "" {
		mediaType, params, err := mime.ParseMediaType(header)
		charset := params["charset"]
		if err != nil || !accept(mediaType) || charset != "" && !strings.EqualFold(charset, "utf-8") {
			return nil, storage.Errorf(errUnsupportedMedia, "send this as Content-Type: %s, in UTF-8", wanted)
		}
	}
	if encoding := c.GetHeader("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return nil, storage.Errorf(errUnsupportedMedia, "send this without Content-Encoding")
	}
	if c.Request.ContentLength > limit {
		return nil, storage.Errorf(errTooLarge, "the body is larger than %d bytes", limit)
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.Writer, c.Request.Body, limit))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		return nil, storage.Errorf(errTooLarge, "the body is larger than %d bytes", limit)
	case err != nil:
		return nil, fmt.Errorf("%w: read body: %w", errBadRequest, err)
	}
	return body, nil
}

func isJSON(mediaType string) bool {
	return mediaType == "application/json" ||
		strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
}

func isPlainText(mediaType string) bool { return mediaType == "text/plain" }

// fields is a JSON object whose members are read by name. It collects all errors, so that
// the client gets them in one response.
type fields struct {
	// at is the path of the object in the body: "" or a prefix such as "items[0].".
	at      string
	members map[string]json.RawMessage
	wrong   *[]storage.FieldError
}

// readFields reads a body that must be a JSON object.
func (s *Server) readFields(c *gin.Context) (fields, error) { return readFields(c, s.cfg.MaxBody) }

func readFields(c *gin.Context, limit int64) (fields, error) {
	f := fields{wrong: new([]storage.FieldError)}
	body, err := readBody(c, limit, "application/json", isJSON)
	if err != nil {
		return f, err
	}
	if !json.Valid(body) {
		return f, storage.Errorf(errBadRequest, "the body is not JSON: %s", jsonProblem(body))
	}
	if json.Unmarshal(body, &f.members) != nil || f.members == nil {
		return f, storage.Invalid(storage.FieldError{Field: "body", Message: "must be a JSON object"})
	}
	return f, nil
}

// readOptionalFields is readFields for an optional body.
func (s *Server) readOptionalFields(c *gin.Context) (fields, error) {
	first := make([]byte, 1)
	if _, err := io.ReadFull(c.Request.Body, first); errors.Is(err, io.EOF) {
		return fields{wrong: new([]storage.FieldError)}, nil
	}
	c.Request.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(first), c.Request.Body), c.Request.Body}
	return s.readFields(c)
}

// jsonProblem describes where and why a text is not JSON.
func jsonProblem(body []byte) string {
	if len(bytes.TrimSpace(body)) == 0 {
		return "it is empty"
	}
	var anything json.RawMessage
	var syntax *json.SyntaxError
	if err := json.Unmarshal(body, &anything); errors.As(err, &syntax) {
		return fmt.Sprintf("%s, at byte %d", syntax.Error(), syntax.Offset)
	}
	return "it cannot be read"
}

// err gives the collected errors.
func (f fields) err() error {
	if len(*f.wrong) == 0 {
		return nil
	}
	return storage.Invalid(*f.wrong...)
}

func (f fields) refuse(name, problem string) {
	if len(*f.wrong) <= maxSubErrors {
		*f.wrong = append(*f.wrong, storage.FieldError{Field: f.at + cut(name), Message: problem})
	}
}

// cut limits a client's name that is sent back.
func cut(name string) string { return storage.Truncate(name, maxFieldPath) }

// has reports whether a member exists and is not null.
func (f fields) has(name string) bool {
	raw, ok := f.members[name]
	return ok && string(raw) != "null"
}

// text reads an optional string; "" when there is none.
func (f fields) text(name string) string {
	var text string
	if f.has(name) && json.Unmarshal(f.members[name], &text) != nil {
		f.refuse(name, "must be a string")
	}
	return text
}

// checkedText reads a required string that must pass check.
func (f fields) checkedText(name string, check func(string) string) string {
	before := len(*f.wrong)
	text := f.text(name)
	switch {
	case len(*f.wrong) > before:
	case !f.has(name):
		f.refuse(name, "is required")
	default:
		if problem := check(text); problem != "" {
			f.refuse(name, problem)
		}
	}
	return text
}

// optionalText is checkedText for an optional string; "" when there is none.
func (f fields) optionalText(name string, check func(string) string) string {
	if !f.has(name) {
		return ""
	}
	return f.checkedText(name, check)
}

// username reads a required username; storage.Self is the caller's.
func (f fields) username(name string, caller storage.Caller) string {
	var username string
	f.checkedText(name, func(text string) string {
		username = actingUser(text, caller)
		return storage.CheckUsername(username)
	})
	return username
}

// objects reads a list of objects; nil when there is none.
func (f fields) objects(name string) []fields {
	if !f.has(name) {
		return nil
	}
	var items []json.RawMessage
	if json.Unmarshal(f.members[name], &items) != nil {
		f.refuse(name, "must be a list")
		return nil
	}
	objects := make([]fields, len(items))
	for i, item := range items {
		objects[i] = fields{at: fmt.Sprintf("%s%s[%d].", f.at, name, i), wrong: f.wrong}
		if json.Unmarshal(item, &objects[i].members) != nil || objects[i].members == nil {
			f.refuse(fmt.Sprintf("%s[%d]", name, i), "must be an object")
		}
	}
	return objects
}

// texts reads an object whose values are strings; nil when there is none.
func (f fields) texts(name string) map[string]string {
	if !f.has(name) {
		return nil
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(f.members[name], &members) != nil {
		f.refuse(name, "must be an object whose values are strings")
		return nil
	}
	texts := make(map[string]string, len(members))
	inner := fields{at: f.at + name + ".", members: members, wrong: f.wrong}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if inner.has(key) {
			texts[key] = inner.text(key)
		} else {
			inner.refuse(key, "must be a string")
		}
	}
	return texts
}
