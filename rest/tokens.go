package rest

import (
	"time"

	"parley/internal/domain"
)

const (
	// defaultTokenLife is the lifetime of a token without an expiry.
	defaultTokenLife = 90 * 24 * time.Hour
	maxTokenName     = 128
	maxTokenScopes   = 100
)

type tokenJSON struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Token is always null: only the response to its creation has the token.
	Token     *string            `json:"token"`
	Access    domain.TokenAccess `json:"access"`
	CreatedAt time.Time          `json:"created_at"`
	ExpiresAt time.Time          `json:"expires_at"`
	// RestrictedTo is nil for a token without restriction.
	RestrictedTo []scopeJSON `json:"accessRestrictedTo,omitzero"`
}

type newTokenJSON struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Token     string    `json:"token"`
	CreatedAt time.Time `json:"created_at"`
	ExpiresAt time.Time `json:"expires_at"`
}

type scopeJSON struct {
	Owner     string `json:"username"`
	Namespace string `json:"namespace"`
	Dataset   string `json:"dataset,omitempty"`
}

type permissionsJSON struct {
	Restricted  bool               `json:"restricted"`
	Access      domain.TokenAccess `json:"access"`
	Permissions []scopeJSON        `json:"permissions"`
}

func (s *Server) createToken(r *request) (any, error) {
	f := r.fields(s.cfg.MaxBody)
	name := f.text("name", notEmpty(maxTokenName))
	expires := time.Now().Add(defaultTokenLife)
	if f.has("expires_at") {
		expires = f.future("expires_at")
	}
	restricted := f.has("accessRestrictedTo")
	var scopes []domain.Scope
	if restricted {
		// An empty list is refused, since it could mean nothing or everything.
		scopes = list(f, "accessRestrictedTo", maxTokenScopes, "; leave it out for a token without restriction", fields.scope)
	}
	access := f.access("access", restricted)
	if err := r.err(); err != nil {
		return nil, err
	}
	text, token, err := s.cfg.Auth.Issue(r.ctx(), r.caller.Username, expires)
	if err != nil {
		return nil, err
	}
	token.Name, token.Access, token.Restricted, token.Scopes = name, access, restricted, scopes
	err = s.cfg.Store.CreateToken(r.ctx(), r.caller, token)
	return newTokenJSON{ID: token.ID, Name: name, Token: text, CreatedAt: token.CreatedAt, ExpiresAt: token.ExpiresAt}, err
}

// access reads the access of a token. The default of a restricted one is read-only; an
// unrestricted one may do all that its user may.
func (f fields) access(name string, restricted bool) domain.TokenAccess {
	otherwise := domain.WriteAccess
	if restricted {
		otherwise = domain.ReadAccess
	}
	return domain.TokenAccess(f.optionalText(name, string(otherwise), func(text string) string {
		if text == string(domain.ReadAccess) && !restricted {
			return "must not be 'read' without accessRestrictedTo"
		}
		return oneOf(domain.ReadAccess, domain.WriteAccess)(text)
	}))
}

func (f fields) scope() domain.Scope {
	ref := f.namespace()
	return domain.Scope{Owner: ref.Owner, Namespace: ref.Name, Dataset: f.optionalText("dataset", "", domain.CheckName)}
}

func (s *Server) getTokens(r *request) (any, error) {
	tokens, err := s.cfg.Store.Tokens(r.ctx(), r.caller)
	return toList(tokens, toToken), err
}

func toToken(t domain.Token) tokenJSON {
	token := tokenJSON{ID: t.ID, Name: t.Name, Access: t.Access, CreatedAt: t.CreatedAt, ExpiresAt: t.ExpiresAt}
	if t.Restricted {
		token.RestrictedTo = toScopes(t.Scopes)
	}
	return token
}

func toScopes(scopes []domain.Scope) []scopeJSON {
	return toList(scopes, func(scope domain.Scope) scopeJSON { return scopeJSON(scope) })
}

func (s *Server) getTokenPermissions(r *request, id string) (any, error) {
	token, err := s.cfg.Store.Token(r.ctx(), r.caller, id)
	return permissionsJSON{Restricted: token.Restricted, Access: token.Access, Permissions: toScopes(token.Scopes)}, err
}

func (s *Server) deleteToken(r *request, id string) (any, error) {
	if err := s.cfg.Store.DeleteToken(r.ctx(), r.caller, id); err != nil {
		return nil, err
	}
	s.cfg.Auth.EndRequests(id)
	return nil, nil
}
