package domain

import "time"

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
