package rest

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

type namespaceJSON struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// getNamespaces lists the caller's own namespaces and those shared with the
// caller; under another user's name, those of that user.
func (s *Server) getNamespaces(c *gin.Context, caller storage.Caller) error {
	p := &path{Context: c, caller: caller}
	owner := p.username("user")
	if err := p.err(); err != nil {
		return err
	}
	if owner == caller.Username {
		owner = ""
	}
	namespaces, err := s.cfg.Store.Namespaces(c.Request.Context(), caller, owner)
	if err != nil {
		return err
	}
	list := make([]namespaceJSON, len(namespaces))
	for i, n := range namespaces {
		list[i] = namespaceJSON{Name: n.Name, Owner: n.Owner}
	}
	c.PureJSON(http.StatusOK, list)
	return nil
}

func (s *Server) renameNamespace(c *gin.Context, caller storage.Caller) error {
	ref, err := namespaceRef(c, caller)
	if err != nil {
		return err
	}
	name, err := s.readNewName(c)
	if err != nil {
		return err
	}
	return s.cfg.Store.RenameNamespace(c.Request.Context(), caller, ref, name)
}

// readNewName reads the new name, a plain text.
func (s *Server) readNewName(c *gin.Context) (string, error) {
	body, err := readBody(c, s.cfg.MaxBody, "text/plain", isPlainText)
	if err != nil {
		return "", err
	}
	name := strings.TrimSpace(string(body))
	if problem := storage.CheckName(name); problem != "" {
		return "", storage.Invalid(storage.FieldError{Field: "name", Message: problem})
	}
	return name, nil
}

func (s *Server) deleteNamespace(c *gin.Context, caller storage.Caller) error {
	ref, err := namespaceRef(c, caller)
	if err != nil {
		return err
	}
	withDatasets := false
	switch c.Query("deleteDatasets") {
	case "true":
		withDatasets = true
	case "", "false":
	default:
		return storage.Invalid(storage.FieldError{Field: "deleteDatasets", Message: "must be 'true' or 'false'"})
	}
	if err := s.cfg.Store.DeleteNamespace(c.Request.Context(), caller, ref, withDatasets); err != nil {
		return err
	}
	c.Status(http.StatusNoContent)
	return nil
}
