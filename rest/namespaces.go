package rest

import (
	"context"

	"parley/internal/domain"
)

type namespaceJSON struct {
	Name  string `json:"name"`
	Owner string `json:"owner"`
}

// getNamespaces lists the caller's own namespaces and those shared with the caller; under
// another user's name, those of that user.
func (s *Server) getNamespaces(r *request, owner string) (any, error) {
	if owner == r.caller.Username {
		owner = ""
	}
	namespaces, err := s.cfg.Store.Namespaces(r.ctx(), r.caller, owner)
	return toList(namespaces, func(n domain.NamespaceRef) namespaceJSON { return namespaceJSON{Name: n.Name, Owner: n.Owner} }), err
}

func rename[T any](s *Server, read func(*request) T, rename func(context.Context, domain.Caller, T, string) error) operation {
	return on(read, func(r *request, ref T) (any, error) {
		name := r.newName(s.cfg.MaxBody)
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, rename(r.ctx(), r.caller, ref, name)
	})
}

func (s *Server) deleteNamespace(r *request, ref domain.NamespaceRef) (any, error) {
	withDatasets := r.Query("deleteDatasets")
	if withDatasets != "" {
		r.check("deleteDatasets", oneOf("true", "false")(withDatasets))
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return nil, s.cfg.Store.DeleteNamespace(r.ctx(), r.caller, ref, withDatasets == "true")
}
