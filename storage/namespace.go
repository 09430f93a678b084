package storage

import "context"

// NamespaceRef addresses a namespace. Name is compared without regard to case.
type NamespaceRef struct {
	Owner string
	Name  string
}

// String gives "owner/name".
func (r NamespaceRef) String() string { return r.Owner + "/" + r.Name }

// Namespace is a user's named group of datasets. It comes into being with its
// first dataset and stays until it is deleted.
type Namespace struct {
	Owner string
	Name  string
}

// Namespaces keeps namespaces.
type Namespaces interface {
	// Namespaces lists those that the caller may see, by owner and name: all
	// of them, or those of one owner.
	Namespaces(ctx context.Context, caller Caller, owner string) ([]Namespace, error)
	// RenameNamespace is for its owner. ErrConflict when the name is taken.
	RenameNamespace(ctx context.Context, caller Caller, ref NamespaceRef, name string) error
	// DeleteNamespace is for its owner. Datasets in it are deleted with it, or
	// make it an ErrConflict.
	DeleteNamespace(ctx context.Context, caller Caller, ref NamespaceRef, withDatasets bool) error
}
