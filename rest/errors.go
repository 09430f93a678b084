package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"syscall"

	"github.com/gin-gonic/gin"

	"parley/internal/auth"
	"parley/internal/domain"
	"parley/internal/jsontext"
	"parley/rest/middleware"
)

// Errors of a request that cannot be read or routed.
var (
	errBadRequest       = errors.New("bad request")
	errNoRoute          = errors.New("no such route")
	errMethodNotAllowed = errors.New("method not allowed")
	errTooLarge         = errors.New("payload too large")
	errUnsupportedMedia = errors.New("unsupported media type")
	errClientGone       = errors.New("the client went away")
	errSlowBody         = domain.Errorf(errBadRequest, "the body came in too slowly; upload large data as a file")
)

// statusClientGone is the status, in logs and metrics only, of a request whose client
// disconnected.
const statusClientGone = 499

// Limits of the invalid fields of one response, and of the name of one, in bytes.
const (
	maxSubErrors = 100
	maxFieldPath = 64
)

// answers maps errors to responses. The first match counts; all others are internal errors.
var answers = []struct {
	kind    error
	status  int
	code    string
	message string
}{
	{errClientGone, statusClientGone, "BAD_REQUEST", "the client went away"},
	{errBadRequest, http.StatusBadRequest, "BAD_REQUEST", "the request cannot be read"},
	{domain.ErrUnauthorized, http.StatusUnauthorized, "UNAUTHORIZED", "a valid bearer token is required"},
	{domain.ErrForbidden, http.StatusForbidden, "FORBIDDEN", "you may not do this"},
	{errNoRoute, http.StatusNotFound, "NOT_FOUND", "there is nothing at this path"},
	{domain.ErrNotFound, http.StatusNotFound, "NOT_FOUND", "not found"},
	{errMethodNotAllowed, http.StatusMethodNotAllowed, "METHOD_NOT_ALLOWED", "this path does not take this method"},
	{domain.ErrConflict, http.StatusConflict, "CONFLICT", "another request changed this; read it again and retry"},
	{errTooLarge, http.StatusRequestEntityTooLarge, "PAYLOAD_TOO_LARGE", "the request is too large"},
	{errUnsupportedMedia, http.StatusUnsupportedMediaType, "UNSUPPORTED_MEDIA_TYPE", "this media type is not taken here"},
	{domain.ErrRunNotCompleted, http.StatusUnprocessableEntity, "RUN_NOT_COMPLETED", "only a completed run can be rated"},
	{domain.ErrInvalid, http.StatusUnprocessableEntity, "VALIDATION_FAILED", "the request is not valid"},
	{domain.ErrTooMany, http.StatusTooManyRequests, "TOO_MANY_REQUESTS", "you have too many requests in progress; try again later"},
	{domain.ErrTracing, http.StatusBadGateway, "TRACING_UNAVAILABLE", "the tracing store cannot be reached now, and nothing was recorded; try again"},
	{syscall.ENOSPC, http.StatusServiceUnavailable, "UNAVAILABLE", noRoom},
	{syscall.EDQUOT, http.StatusServiceUnavailable, "UNAVAILABLE", noRoom},
	{syscall.EFBIG, http.StatusServiceUnavailable, "UNAVAILABLE", noRoom},
	{syscall.EMFILE, http.StatusServiceUnavailable, "UNAVAILABLE", noDescriptors},
	{syscall.ENFILE, http.StatusServiceUnavailable, "UNAVAILABLE", noDescriptors},
	{domain.ErrUnavailable, http.StatusServiceUnavailable, "UNAVAILABLE", "something needed for this cannot be reached now; try again"},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, "UNAVAILABLE", "this took too long; try again"},
}

const (
	noDescriptors = "the server has too many files and connections open; try again shortly"
	noRoom        = "there is no room left on the server's disk; try again later"
)

type errorResponse struct {
	ErrorCode    string     `json:"error_code"`
	Message      string     `json:"message"`
	ErrorMessage string     `json:"error_message"`
	SubErrors    []subError `json:"sub_errors"`
}

type subError struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func toSubError(f domain.FieldError) subError { return subError{Code: f.Field, Message: f.String()} }

// answer wraps an operation and writes a response for its error.
func (s *Server) answer(operation func(c *gin.Context) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		ctx := c.Request.Context()
		err := operation(c)
		// The deadline of a body ends its context too.
		if err != nil && errors.Is(ctx.Err(), context.Canceled) && !errors.Is(err, errSlowBody) {
			err = fmt.Errorf("%w: %w", errClientGone, err)
		}
		middleware.LimitRead(c)
		if err != nil {
			writeError(c, err)
		}
	}
}

// writeError answers with an error, and keeps the whole of it for the access log.
func writeError(c *gin.Context, err error) {
	_ = c.Error(err)
	if c.Writer.Written() {
		// The response has started: aborting it shows the client that it is incomplete.
		panic(http.ErrAbortHandler)
	}
	status, body := toErrorResponse(err)
	switch status {
	case http.StatusUnauthorized:
		c.Header("WWW-Authenticate", challenge(c))
	case http.StatusTooManyRequests, http.StatusServiceUnavailable:
		c.Header("Retry-After", "2")
	}
	c.Abort()
	if refuse, ok := c.Value(refuseKey).(func(http.ResponseWriter, *http.Request, int, string)); ok {
		refuse(c.Writer, c.Request, status, body.Message)
		return
	}
	text, _ := jsontext.Marshal(body) // strings can always be encoded
	text = append(text, '\n')
	// With a length, the client has the whole response before the connection closes; see
	// middleware.DrainBody.
	c.Header("Content-Length", strconv.Itoa(len(text)))
	c.Data(status, "application/json; charset=utf-8", text)
}

// challenge is the WWW-Authenticate of a refused request. It names an error only where a
// token was sent, as RFC 6750 asks: clients then get a new one instead of asking for a
// first one.
// With an authorization server it names the metadata of RFC 9728.
func challenge(c *gin.Context) string {
	var params []string
	if auth.TokenSent(c.Request.Header) {
		params = append(params, `error="invalid_token"`)
	}
	if address := c.GetString(metadataKey); address != "" {
		params = append(params, `resource_metadata="`+address+`"`)
	}
	return strings.TrimSpace("Bearer " + strings.Join(params, ", "))
}

func toErrorResponse(err error) (int, errorResponse) {
	for _, a := range answers {
		if !errors.Is(err, a.kind) {
			continue
		}
		body := errorResponse{ErrorCode: a.code, Message: a.message, SubErrors: []subError{}}
		if known, ok := errors.AsType[*domain.Error](err); ok {
			body.Message = known.Message
			body.SubErrors = toList(known.Fields[:min(len(known.Fields), maxSubErrors)], toSubError)
		}
		return a.status, body
	}
	return http.StatusInternalServerError, errorResponse{
		ErrorCode: "INTERNAL",
		Message:   "internal error; the server logged it with the id of this request",
		SubErrors: []subError{},
	}
}
