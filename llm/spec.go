package llm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Spec names a model and its provider.
type Spec struct {
	// Provider is one that [ParseSpec] accepts, or "reader".
	Provider string
	// Model is the provider's name of the model.
	Model string
}

// String returns the form that [ParseSpec] reads.
func (s Spec) String() string { return s.Provider + ":" + s.Model }

// ParseSpec reads "provider:model". The model may have colons too. Space around the whole
// is dropped. The error for an unknown or missing provider lists the known ones.
func ParseSpec(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, model, found := strings.Cut(text, ":")
	if !found {
		return Spec{}, fmt.Errorf("model %q has no provider: write provider:model, the provider being %s", text, providerNames())
	}
	if _, ok := lookup(name); !ok {
		return Spec{}, fmt.Errorf("model %q has an unknown provider %q: known are %s", text, name, providerNames())
	}
	if model == "" {
		return Spec{}, fmt.Errorf("model %q has no name after its provider: write %s:model", text, name)
	}
	invalid := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if !utf8.ValidString(model) || strings.ContainsFunc(model, invalid) {
		return Spec{}, fmt.Errorf("model %q has a space or an unprintable character in its name", text)
	}
	return Spec{Provider: name, Model: model}, nil
}

// providerNames gives the known providers as text: a, b or c.
func providerNames() string {
	var names []string
	for _, p := range providers {
		names = append(names, p.name)
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
