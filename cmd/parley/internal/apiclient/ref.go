package apiclient

import (
	"errors"
	"net/url"
	"strings"

	"parley/internal/domain"
)

// Ref names a dataset, or a namespace where Name is empty.
type Ref struct{ Owner, Namespace, Name string }

// errRef describes the syntax.
var errRef = errors.New("must be NAMESPACE/NAME, or OWNER/NAMESPACE/NAME for another user's")

// ParseDataset parses NAMESPACE/NAME or OWNER/NAMESPACE/NAME.
func ParseDataset(text string) (Ref, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append([]string{domain.Self}, parts...)
	}
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return Ref{}, errRef
	}
	ref := Ref{parts[0], parts[1], parts[2]}
	return ref, ref.Check()
}

// Check validates the names.
func (r Ref) Check() error {
	if problem := domain.CheckUsername(domain.NormalizeUsername(r.Owner)); !r.Own() && problem != "" {
		return errors.New("has the owner '" + r.Owner + "', which " + problem)
	}
	if problem := domain.CheckName(r.Namespace); problem != "" {
		return errors.New("has the namespace '" + r.Namespace + "', which " + problem)
	}
	if problem := domain.CheckName(r.Name); r.Name != "" && problem != "" {
		return errors.New("has the name '" + r.Name + "', which " + problem)
	}
	return nil
}

// Own reports whether it belongs to the user.
func (r Ref) Own() bool { return domain.NormalizeUsername(r.Owner) == domain.Self }

// Path returns its path in the interface, below that of an operation.
func (r Ref) Path(operation string) string {
	path := operation + "/" + url.PathEscape(r.Owner) + "/" + url.PathEscape(r.Namespace)
	if r.Name != "" {
		path += "/" + url.PathEscape(r.Name)
	}
	return path
}

// String returns it as a user writes it.
func (r Ref) String() string {
	text := r.Namespace
	if r.Name != "" {
		text += "/" + r.Name
	}
	if !r.Own() {
		text = r.Owner + "/" + text
	}
	return text
}
