package rest

import (
	"fmt"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"parley/storage"
)

const (
	// defaultTokenLife is the lifetime of a token without an expiry.
	defaultTokenLife = 90 * 24 * time.Hour
	maxTokenName     = 128
	maxTokenScopes   = 100
)

type tokenJSON struct {
	ID        string              `json:"id"`
	Name      string              `json:"name"`
	Access    storage.TokenAccess `json:"access"`
	CreatedAt time.Time           `json:"created_at"`
	ExpiresAt time.Time           `json:"expires_at"`
}

func toToken(t storage.Token) tokenJSON { return tokenJSON(t) }

type newTokenJSON struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Token     string    `json:"token"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

type scopeJSON struct {
	Username  string `json:"username"`
	Namespace string `json:"namespace"`
	Dataset   string `json:"dataset,omitempty"`
}

type permissionsJSON struct {
	Restricted  bool                `json:"restricted"`
	Access      storage.TokenAccess `json:"access"`
	Permissions []scopeJSON         `json:"permissions"`
}

func (s *Server) createToken(c *gin.Context, caller storage.Caller) error {
	f, err := s.readFields(c)
	if err != nil {
		return err
	}
	name := f.checkedText("name", func(name string) string {
		if name == "" {
			return "must not be empty"
		}
		return storage.CheckText(name, maxTokenName)
	})
	expires := f.future("expires_at", time.Now().Add(defaultTokenLife))
	scopes := f.scopes("accessRestrictedTo", caller)
	restricted := f.has("accessRestrictedTo")
	access := f.access("access", restricted)
	if err := f.err(); err != nil {
		return err
	}
	text, token, err := s.cfg.Auth.Issue(c.Request.Context(), caller.Username, expires)
	if err != nil {
		return err
	}
	token.Name, token.Access, token.Restricted, token.Scopes = name, access, restricted, scopes
	if err := s.cfg.Store.CreateToken(c.Request.Context(), caller, token); err != nil {
		return err
	}
	c.PureJSON(http.StatusOK, newTokenJSON{
		ID: token.ID, Name: name, Token: text, CreatedAt: token.CreatedAt, ExpiresAt: token.ExpiresAt,
	})
	return nil
}

// future reads an optional time in the future.
func (f fields) future(name string, otherwise time.Time) time.Time {
	if !f.has(name) {
		return otherwise
	}
	var at time.Time
	f.checkedText(name, func(text string) (problem string) {
		var err error
		if at, err = time.Parse(time.RFC3339, text); err != nil {
			return "must be a time as in 2030-12-31T23:59:59Z"
		}
		if !at.After(time.Now().Add(time.Second)) {
			return "must be in the future"
		}
		return ""
	})
	return at
}

// access reads the access of a token. The default of a restricted one is read-only; an
// unrestricted one may do all that its user may.
func (f fields) access(name string, restricted bool) storage.TokenAccess {
	if !f.has(name) {
		if restricted {
			return storage.ReadAccess
		}
		return storage.WriteAccess
	}
	return storage.TokenAccess(f.checkedText(name, func(text string) string {
		switch access := storage.TokenAccess(text); {
		case access != storage.ReadAccess && access != storage.WriteAccess:
			return "must be 'read' or 'write'"
		case access == storage.ReadAccess && !restricted:
			return "must not be 'read' without accessRestrictedTo"
		}
		return ""
	}))
}

// scopes reads the scopes of a token. An empty list is refused, since it could mean nothing
// or everything.
func (f fields) scopes(name string, caller storage.Caller) []storage.Scope {
	if !f.has(name) {
		return nil
	}
	before := len(*f.wrong)
	objects := f.objects(name)
	if n := len(objects); len(*f.wrong) == before && (n == 0 || n > maxTokenScopes) {
		f.refuse(name, fmt.Sprintf("must have 1 to %d entries; leave it out for a token without restriction", maxTokenScopes))
		return nil
	}
	scopes := make([]storage.Scope, len(objects))
	for i, object := range objects {
		if object.members == nil {
			continue
		}
		scopes[i].Owner = object.username("username", caller)
		scopes[i].Namespace = object.checkedText("namespace", storage.CheckName)
		if object.has("dataset") {
			scopes[i].Dataset = object.checkedText("dataset", storage.CheckName)
		}
	}
	return scopes
}

func (s *Server) getTokens(c *gin.Context, caller storage.Caller) error {
	tokens, err := s.cfg.Store.Tokens(c.Request.Context(), caller)
	if err != nil {
		return err
	}
	list := make([]tokenJSON, len(tokens))
	for i, token := range tokens {
		list[i] = toToken(token)
	}
	c.PureJSON(http.StatusOK, list)
	return nil
}

func (s *Server) getTokenPermissions(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "tokenId")
	if err != nil {
		return err
	}
	permissions, err := s.cfg.Store.TokenPermissions(c.Request.Context(), caller, id)
	if err != nil {
		return err
	}
	answer := permissionsJSON{
		Restricted: permissions.Restricted, Access: permissions.Access, Permissions: make([]scopeJSON, len(permissions.Scopes)),
	}
	for i, scope := range permissions.Scopes {
		answer.Permissions[i] = scopeJSON{Username: scope.Owner, Namespace: scope.Namespace, Dataset: scope.Dataset}
	}
	c.PureJSON(http.StatusOK, answer)
	return nil
}

func (s *Server) deleteToken(c *gin.Context, caller storage.Caller) error {
	id, err := pathID(c, "tokenId")
	if err != nil {
		return err
	}
	if err := s.cfg.Store.DeleteToken(c.Request.Context(), caller, id); err != nil {
		return err
	}
	s.cfg.Auth.EndRequests(id)
	return nil
}
