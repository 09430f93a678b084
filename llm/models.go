package llm

import (
	"fmt"
	"slices"
	"strings"
)

// Models has the configured models by name. After the last Add, it is safe for concurrent
// use.
type Models struct{ all []named }

type named struct {
	spec Spec
	jobs Jobs
}

// UnknownModelError says that a request names a model that is not configured. Its text is
// for the user.
type UnknownModelError struct {
	// Provider and Model are those of the request; either may be "".
	Provider, Model string
	// Set has the configured models.
	Set []string
}

func (e *UnknownModelError) Error() string {
	requested := strings.Trim(e.Provider+":"+e.Model, ":")
	if len(e.Set) == 0 {
		return fmt.Sprintf("model %q is not set here; none is", shorten(requested, 100))
	}
	return fmt.Sprintf("model %q is not set here; there is %s", shorten(requested, 100), strings.Join(e.Set, ", "))
}

// Add adds a model. The first one is the default. A provider of one model, such as the
// reader, may leave the model's name empty. It fails when the name is taken.
func (m *Models) Add(spec Spec, jobs Jobs) error {
	if slices.ContainsFunc(m.all, func(n named) bool { return n.spec == spec }) {
		return fmt.Errorf("model %s is there twice", nameOf(spec))
	}
	m.all = append(m.all, named{spec, jobs})
	return nil
}

// Names returns the names of all, the default first.
func (m *Models) Names() []string {
	names := make([]string, len(m.all))
	for i, n := range m.all {
		names[i] = nameOf(n.spec)
	}
	return names
}

func nameOf(spec Spec) string { return strings.TrimSuffix(spec.String(), ":") }

// Jobs returns the model of a request that names a provider and a model: the first that
// has both, where either may be "". The model may be written as provider:model. The error
// is an [UnknownModelError].
func (m *Models) Jobs(provider, model string) (Jobs, error) {
	for _, n := range m.all {
		fits := (provider == "" || strings.EqualFold(provider, n.spec.Provider)) &&
			(model == "" || model == n.spec.Model || model == nameOf(n.spec))
		if fits {
			return n.jobs, nil
		}
	}
	return nil, &UnknownModelError{Provider: provider, Model: model, Set: m.Names()}
}
