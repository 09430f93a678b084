package domain

// NamespaceRef addresses a namespace, a user's named group of datasets. Name is compared
// without regard to case. A namespace is created with its first dataset and exists until
// it is deleted.
type NamespaceRef struct {
	Owner string
	Name  string
}

// String returns "owner/name".
func (r NamespaceRef) String() string { return r.Owner + "/" + r.Name }
