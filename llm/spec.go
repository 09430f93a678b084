package llm

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Spec names a model and the provider that serves it.
type Spec struct {
	// Provider is one of [Providers].
	Provider string
	// Model is the provider's own name for the model.
	Model string
}

// String returns the form that [ParseSpec] reads.
func (s Spec) String() string { return s.Provider + ":" + s.Model }

// ParseSpec reads "provider:model". All after the first colon is the model, so
// that it may hold colons itself. Space around the whole is dropped. The error
// for an unknown or missing provider lists the known ones.
func ParseSpec(text string) (Spec, error) {
	text = strings.TrimSpace(text)
	name, model, found := strings.Cut(text, ":")
	if !found {
		return Spec{}, fmt.Errorf("model %q has no provider: write provider:model, the provider being %s", text, known())
	}
	if _, ok := lookup(name); !ok {
		return Spec{}, fmt.Errorf("model %q has an unknown provider %q: known are %s", text, name, known())
	}
	if model == "" {
		return Spec{}, fmt.Errorf("model %q has no name after its provider: write %s:model", text, name)
	}
	odd := func(r rune) bool { return unicode.IsSpace(r) || !unicode.IsPrint(r) }
	if !utf8.ValidString(model) || strings.ContainsFunc(model, odd) {
		return Spec{}, fmt.Errorf("model %q has a space or an unprintable character in its name", text)
	}
	return Spec{Provider: name, Model: model}, nil
}

// Providers returns the names of the providers that [Open] knows, in
// alphabetical order.
func Providers() []string {
	names := make([]string, 0, len(providers))
	for _, p := range providers {
		names = append(names, p.name)
	}
	return names
}

func known() string {
	names := Providers()
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
