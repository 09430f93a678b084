package rest

import (
	"net/http"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

type grantJSON struct {
	Username string       `json:"username"`
	Role     storage.Role `json:"role"`
}

func toGrants(grants []storage.Grant) []grantJSON {
	list := make([]grantJSON, len(grants))
	for i, g := range grants {
		list[i] = grantJSON(g)
	}
	return list
}

// readGrant reads a grant.
func (s *Server) readGrant(c *gin.Context, caller storage.Caller) (storage.Grant, error) {
	f, err := s.readFields(c)
	if err != nil {
		return storage.Grant{}, err
	}
	username := f.username("username", caller)
	role := f.checkedText("role", func(role string) string {
		if !storage.Role(role).Grantable() {
			return "must be 'viewer' or 'editor'"
		}
		return ""
	})
	return storage.Grant{Username: username, Role: storage.Role(role)}, f.err()
}

// readNewGrant reads a grant to create.
func (s *Server) readNewGrant(c *gin.Context, caller storage.Caller) (storage.Grant, error) {
	grant, err := s.readGrant(c, caller)
	if err == nil && grant.Username == caller.Username {
		err = storage.Invalid(storage.FieldError{Field: "username", Message: "must be another user: nothing is shared with oneself"})
	}
	return grant, err
}

func (s *Server) getNamespaceShares(c *gin.Context, caller storage.Caller) error {
	ref, err := namespaceRef(c, caller)
	if err != nil {
		return err
	}
	grants, err := s.cfg.Store.NamespaceShares(c.Request.Context(), caller, ref)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, toGrants(grants))
	return nil
}

func (s *Server) shareNamespace(c *gin.Context, caller storage.Caller) error {
	ref, err := namespaceRef(c, caller)
	if err != nil {
		return err
	}
	grant, err := s.readNewGrant(c, caller)
	if err != nil {
		return err
	}
	return s.cfg.Store.ShareNamespace(c.Request.Context(), caller, ref, grant)
}

func (s *Server) revokeNamespaceShare(c *gin.Context, caller storage.Caller) error {
	ref, err := namespaceRef(c, caller)
	if err != nil {
		return err
	}
	grant, err := s.readGrant(c, caller)
	if err != nil {
		return err
	}
	return s.cfg.Store.RevokeNamespaceShare(c.Request.Context(), caller, ref, grant.Username)
}

func (s *Server) getDatasetShares(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	grants, err := s.cfg.Store.DatasetShares(c.Request.Context(), caller, ref)
	if err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, toGrants(grants))
	return nil
}

func (s *Server) shareDataset(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	grant, err := s.readNewGrant(c, caller)
	if err != nil {
		return err
	}
	return s.cfg.Store.ShareDataset(c.Request.Context(), caller, ref, grant)
}

func (s *Server) revokeDatasetShare(c *gin.Context, caller storage.Caller) error {
	ref, err := datasetRef(c, caller)
	if err != nil {
		return err
	}
	grant, err := s.readGrant(c, caller)
	if err != nil {
		return err
	}
	return s.cfg.Store.RevokeDatasetShare(c.Request.Context(), caller, ref, grant.Username)
}
