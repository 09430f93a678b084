package agents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/llm"
)

// Limits of what is read to find the namespace of a question.
const (
	maxFitNamespaces = 100
	maxFitBytes      = 64 << 10
	// ownFit is how much better the namespace of somebody else must fit than one's own: anybody may
	// have shared it.
	ownFit = 2
)

// Namespaces finds the namespace of questions that are asked of none. It needs no model.
type Namespaces struct {
	// Datasets returns the datasets of a namespace that the caller may read, up to maxBytes of
	// names and descriptions.
	Datasets func(ctx context.Context, caller domain.Caller, ref domain.NamespaceRef, maxBytes int) ([]domain.Dataset, error)
	Profiles Profiles
	// Fit returns how well each dataset fits a question; 0 is not at all.
	Fit func(question string, datasets []llm.Dataset) []float64
}

// fitted is a namespace with the datasets of it.
type fitted struct {
	ref      domain.NamespaceRef
	datasets []llm.Dataset
	// best is the highest score of a dataset, with the number of the dataset. It is ownFit times as
	// high in the caller's own namespace.
	best    float64
	dataset int
}

// Named returns the namespace of a question whose text names one, as [domain.FindAddress] found
// it among the readable ones: this one, or another whose data has the name too, as that of a dataset or a
// column or as a value, and fits the rest of the question at least as well. It compares the first
// maxFitNamespaces. It is zero if the name is that of somebody else's namespace, and one of the caller's own
// fits the rest: anybody may share a namespace that is called 2024 or total.
func (n *Namespaces) Named(ctx context.Context, caller domain.Caller, address domain.Address, readable []domain.NamespaceRef) (domain.NamespaceRef, error) {
	if address.Leading {
		return address.Namespace, nil
	}
	others := slices.DeleteFunc(slices.Clone(readable), func(ref domain.NamespaceRef) bool { return ref == address.Namespace })
	all, err := n.fit(ctx, caller, address.Rest, append([]domain.NamespaceRef{address.Namespace}, others...))
	if err != nil {
		return domain.NamespaceRef{}, err
	}
	found := all[0]
	for _, f := range all[1:] {
		isNearer := f.ref.Owner == caller.Username && found.ref.Owner != caller.Username
		if len(f.datasets) == 0 || f.best == 0 && !isNearer || f.best < found.best || f.best == found.best && found.ref != address.Namespace {
			continue
		}
		has, err := n.has(ctx, caller, f, address.Name)
		if err != nil {
			return domain.NamespaceRef{}, err
		}
		if has {
			found = f
		}
	}
	isOwn := func(f fitted) bool { return f.ref.Owner == caller.Username }
	if !isOwn(found) && slices.ContainsFunc(all, func(f fitted) bool { return isOwn(f) && f.best > 0 }) {
		return domain.NamespaceRef{}, nil
	}
	return found.ref, nil
}

// Best returns the readable namespace that fits a question best; zero if none fits. More than
// maxFitNamespaces are ErrInvalid: the best one may not be among the first.
func (n *Namespaces) Best(ctx context.Context, caller domain.Caller, question string, readable []domain.NamespaceRef) (domain.NamespaceRef, error) {
	if len(readable) > maxFitNamespaces {
		return domain.NamespaceRef{}, domain.Invalid(domain.FieldError{
			Field:   "message.metadata.namespace",
			Message: fmt.Sprintf("is required: you can read more than %d namespaces, and metadata.neverAsk is set", maxFitNamespaces),
		})
	}
	all, err := n.fit(ctx, caller, question, readable)
	var found fitted
	for _, f := range all {
		if f.best > found.best {
			found = f
		}
	}
	return found.ref, err
}

// fit scores namespaces by their datasets.
func (n *Namespaces) fit(ctx context.Context, caller domain.Caller, question string, readable []domain.NamespaceRef) ([]fitted, error) {
	var all []fitted
	var datasets []llm.Dataset
	for _, ref := range readable[:min(len(readable), maxFitNamespaces)] {
		// A namespace that was deleted meanwhile has no datasets.
		found, err := n.Datasets(ctx, caller, ref, maxFitBytes)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return nil, err
		}
		data := make([]domain.DatasetData, len(found))
		for i, d := range found {
			data[i].Dataset = d
		}
		all = append(all, fitted{ref: ref, datasets: describe(data)})
		datasets = append(datasets, all[len(all)-1].datasets...)
	}
	// All at once, since words that many datasets have count less.
	scores := n.Fit(question, datasets)
	for i := range all {
		for k := range all[i].datasets {
			if scores[k] > all[i].best {
				all[i].best, all[i].dataset = scores[k], k
			}
		}
		if all[i].ref.Owner == caller.Username {
			all[i].best *= ownFit
		}
		scores = scores[len(all[i].datasets):]
	}
	return all, nil
}

// has reports whether a name is also that of a dataset or column of a namespace, or a frequent
// value of the dataset that fits best.
func (n *Namespaces) has(ctx context.Context, caller domain.Caller, f fitted, name string) (bool, error) {
	named := wordsIn(name)
	for _, d := range f.datasets {
		if hasWords(wordsIn(d.Name), named) || slices.ContainsFunc(d.Columns, func(c llm.Column) bool { return hasWords(wordsIn(c.Name), named) }) {
			return true, nil
		}
	}
	profile, err := n.Profiles.Profile(ctx, caller, domain.DatasetRef{Owner: f.ref.Owner, Namespace: f.ref.Name, Name: f.datasets[f.dataset].Name})
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	for _, c := range profile.Columns {
		if slices.ContainsFunc(c.Top, func(v domain.ValueCount) bool { return strings.EqualFold(strings.TrimSpace(v.Value), name) }) {
			return true, nil
		}
	}
	return false, err
}
