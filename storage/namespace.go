package storage

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
