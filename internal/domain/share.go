package domain

import (
	"context"
	"encoding/json"
	"time"
)

// Role is what a grant allows, or what a caller may do to a namespace or dataset.
type Role string

// The roles, weakest first. Owner is never granted.
const (
	Viewer Role = "viewer"
	Editor Role = "editor"
	Owner  Role = "owner"
)

// Access is what a caller may do to a namespace or dataset.
type Access struct {
	Role Role
	// Writable is false for a read-only token.
	Writable bool
}

// MayEdit is an ErrForbidden for those who may read a dataset and not change it.
func (a Access) MayEdit() error {
	switch {
	case a.Role != Owner && a.Role != Editor:
		return Errorf(ErrForbidden, "only the owner and editors of this dataset may do this")
	case !a.Writable:
		return ErrReadOnlyToken
	}
	return nil
}

// Strongest returns the role that the caller's token lets the caller use.
func (a Access) Strongest() Role {
	if !a.Writable {
		return Viewer
	}
	return a.Role
}

// Grant returns a user a role on a namespace or a dataset.
type Grant struct {
	Username string
	Role     Role
}

// SharedRun is a completed run as those see it who open the link to it.
type SharedRun struct {
	ID        string
	AskedBy   string
	Namespace NamespaceRef
	Agent     string
	Question  string
	SharedAt  time.Time
	// ResultBytes is the size of the result.
	ResultBytes int
}

// RunShares shares completed runs by links. A run is for those who may read, when they open
// the link, all datasets that it read and that its texts name.
type RunShares interface {
	// SharableRun returns the namespace of a run that the caller may share. ErrInvalid for one
	// that cannot be shared: it is not about a namespace, or follows other runs or attachments,
	// whose contents it may repeat.
	SharableRun(ctx context.Context, caller Caller, runID string) (NamespaceRef, error)
	// ShareRun shares a run of the caller's that read and named the datasets with these ids,
	// and returns the id of the link. A run has one link.
	ShareRun(ctx context.Context, caller Caller, runID string, read, named []string) (id string, err error)
	// RunShare returns the id of the link to a run of the caller's, "" for none.
	RunShare(ctx context.Context, caller Caller, runID string) (id string, err error)
	// EndRunShare ends the link; ErrNotFound when there is none.
	EndRunShare(ctx context.Context, caller Caller, runID string) error
	// SharedRun returns a run by its link. ErrNotFound to those who may not read all its data.
	SharedRun(ctx context.Context, caller Caller, id string) (SharedRun, error)
	// SharedResult returns its result, a JSON document.
	SharedResult(ctx context.Context, caller Caller, id string) (json.RawMessage, error)
}
