package rest

import (
	"context"

	"parley/storage"
)

type grantJSON struct {
	Username string       `json:"username"`
	Role     storage.Role `json:"role"`
}

// The operations on grants are the same for namespaces and datasets: read gets the one of
// the path.

func getShares[T any](read func(*request) T, grants func(context.Context, storage.Caller, T) ([]storage.Grant, error)) operation {
	return on(read, func(r *request, ref T) (any, error) {
		list, err := grants(r.ctx(), r.caller, ref)
		return toList(list, func(g storage.Grant) grantJSON { return grantJSON(g) }), err
	})
}

func share[T any](s *Server, read func(*request) T, share func(context.Context, storage.Caller, T, storage.Grant) error) operation {
	return on(read, func(r *request, ref T) (any, error) {
		grant := s.readGrant(r)
		if r.err() == nil && grant.Username == r.caller.Username {
			r.check("username", "must be another user: nothing is shared with oneself")
		}
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, share(r.ctx(), r.caller, ref, grant)
	})
}

func revokeShare[T any](s *Server, read func(*request) T, revoke func(context.Context, storage.Caller, T, string) error) operation {
	return on(read, func(r *request, ref T) (any, error) {
		grant := s.readGrant(r)
		if err := r.err(); err != nil {
			return nil, err
		}
		return nil, revoke(r.ctx(), r.caller, ref, grant.Username)
	})
}

func (s *Server) readGrant(r *request) storage.Grant {
	f := r.fields(s.cfg.MaxBody)
	return storage.Grant{Username: f.user("username"), Role: storage.Role(f.text("role", oneOf(storage.Viewer, storage.Editor)))}
}
