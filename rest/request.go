package rest

import (
	"context"
	"fmt"
	"net/url"
	"strconv"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/internal/domain"
	"parley/internal/fair"
)

// operation handles a request. It returns the body of the response, nil for none.
type operation func(r *request) (any, error)

// request is an authenticated request. Its methods read values and record errors; an
// operation checks err once, before it uses the values.
type request struct {
	*gin.Context
	caller domain.Caller
	// afterBody waits for what the operation needs when its body has been read; it may be nil.
	afterBody func() error
	// startDecoding waits for a slot to decode a large body, which err releases.
	startDecoding func() (*fair.Slot, error)
	decoding      *fair.Slot
	// endShort releases the slot of a short request, before a slow client reads the response.
	endShort func()
	failed   error // the request cannot be read
	wrong    []domain.FieldError
}

func (r *request) ctx() context.Context { return r.Request.Context() }

// err returns the recorded errors. The body is then decoded.
func (r *request) err() error {
	r.endDecoding()
	if r.failed == nil && len(r.wrong) > 0 {
		return domain.Invalid(r.wrong...)
	}
	return r.failed
}

func (r *request) endDecoding() {
	if r.decoding != nil {
		r.decoding.Release()
	}
}

// on reads what a path names, and runs an operation on it.
func on[T any](read func(*request) T, run func(r *request, named T) (any, error)) operation {
	return func(r *request) (any, error) {
		named := read(r)
		if err := r.err(); err != nil {
			return nil, err
		}
		return run(r, named)
	}
}

// do is on for a change without a body or a result.
func do[T any](read func(*request) T, change func(context.Context, domain.Caller, T) error) operation {
	return on(read, func(r *request, named T) (any, error) { return nil, change(r.ctx(), r.caller, named) })
}

// check records the error of a field; "" is none.
func (r *request) check(field, problem string) {
	if problem != "" && len(r.wrong) <= maxSubErrors {
		r.wrong = append(r.wrong, domain.FieldError{Field: field, Message: problem})
	}
}

// pathValue returns an unescaped path parameter.
func pathValue(c *gin.Context, name string) string {
	value, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return c.Param(name) // cannot happen: the server has parsed the whole path
	}
	return value
}

func (r *request) pathUser(param string) string {
	username := r.caller.Resolve(pathValue(r.Context, param))
	r.check(param, domain.CheckUsername(username))
	return username
}

func (r *request) pathName(param string) string {
	value := pathValue(r.Context, param)
	r.check(param, domain.CheckName(value))
	return value
}

func (r *request) namespace() domain.NamespaceRef {
	return domain.NamespaceRef{Owner: r.pathUser("username"), Name: r.pathName("namespace")}
}

// userNamespace is namespace for paths where the username is called user.
func (r *request) userNamespace() domain.NamespaceRef {
	return domain.NamespaceRef{Owner: r.user(), Name: r.pathName("namespace")}
}

func (r *request) user() string { return r.pathUser("user") }

func (r *request) dataset() domain.DatasetRef {
	return domain.DatasetRef{Owner: r.pathUser("username"), Namespace: r.pathName("namespace"), Name: r.pathName("datasetName")}
}

// ownDataset reads a dataset of the caller's own, whose path has no username.
func (r *request) ownDataset() domain.DatasetRef {
	return domain.DatasetRef{Owner: r.caller.Username, Namespace: r.pathName("namespace"), Name: r.pathName("datasetName")}
}

// pathID reads an id of a path. An invalid id is ErrNotFound.
func pathID(param string) func(*request) string {
	return func(r *request) string {
		id, ok := parseID(pathValue(r.Context, param))
		if !ok {
			r.failed = domain.ErrNotFound
		}
		return id
	}
}

// fieldID is pathID for operations with a body, where an invalid id is ErrInvalid.
func (r *request) fieldID(param string) string {
	id, ok := parseID(pathValue(r.Context, param))
	if !ok {
		r.check(param, "must be a UUID")
	}
	return id
}

// parseID reads a UUID in its usual form.
func parseID(text string) (string, bool) {
	id, err := uuid.Parse(text)
	return id.String(), err == nil && len(text) == len(id.String())
}

// pageSize reads the size of a page from a query parameter.
func (r *request) pageSize(name, text string, most int) int {
	size, err := strconv.Atoi(text)
	if err != nil || size < 1 || size > most {
		r.check(name, fmt.Sprintf("must be 1 to %d", most))
	}
	return size
}
