package rest

import (
	"net/url"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"parley/storage"
)

// actingUser normalizes a username and resolves storage.Self to the caller.
func actingUser(name string, caller storage.Caller) string {
	if name = storage.NormalizeUsername(name); name == storage.Self {
		return caller.Username
	}
	return name
}

// pathValue gives an unescaped path parameter.
func pathValue(c *gin.Context, name string) string {
	value, err := url.PathUnescape(c.Param(name))
	if err != nil {
		return c.Param(name) // cannot be: the server has parsed the whole path
	}
	return value
}

// path reads the names in a request's path and collects errors.
type path struct {
	*gin.Context
	caller storage.Caller
	wrong  []storage.FieldError
}

func (p *path) check(name, problem string) {
	if problem != "" {
		p.wrong = append(p.wrong, storage.FieldError{Field: name, Message: problem})
	}
}

func (p *path) username(name string) string {
	username := actingUser(pathValue(p.Context, name), p.caller)
	p.check(name, storage.CheckUsername(username))
	return username
}

func (p *path) name(name string) string {
	value := pathValue(p.Context, name)
	p.check(name, storage.CheckName(value))
	return value
}

func (p *path) err() error {
	if len(p.wrong) == 0 {
		return nil
	}
	return storage.Invalid(p.wrong...)
}

// namespaceRef reads the namespace of a path.
func namespaceRef(c *gin.Context, caller storage.Caller) (storage.NamespaceRef, error) {
	p := &path{Context: c, caller: caller}
	ref := storage.NamespaceRef{Owner: p.username("username"), Name: p.name("namespace")}
	return ref, p.err()
}

// datasetRef reads the dataset of a path.
func datasetRef(c *gin.Context, caller storage.Caller) (storage.DatasetRef, error) {
	p := &path{Context: c, caller: caller}
	ref := storage.DatasetRef{Owner: p.username("username"), Namespace: p.name("namespace"), Name: p.name("datasetName")}
	return ref, p.err()
}

// pathID reads an id of a path. An invalid id is ErrNotFound.
func pathID(c *gin.Context, name string) (string, error) {
	text := pathValue(c, name)
	id, err := uuid.Parse(text)
	if err != nil || len(text) != len(uuid.UUID{}.String()) {
		return "", storage.ErrNotFound
	}
	return id.String(), nil
}
