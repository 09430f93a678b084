package main

import (
	"errors"
	"net/url"
	"strings"

	"parley/storage"
)

// dataRef is a dataset, or a namespace where it has no name, as a user writes it
// on the command line.
type dataRef struct{ owner, namespace, name string }

// errDataRef says how a dataset is written.
var errDataRef = errors.New("must be NAMESPACE/NAME, or OWNER/NAMESPACE/NAME for somebody else's")

// parseDataset reads NAMESPACE/NAME, with an owner in front for somebody else's.
func parseDataset(text string) (dataRef, error) {
	parts := strings.Split(text, "/")
	if len(parts) == 2 {
		parts = append([]string{storage.Self}, parts...)
	}
	if len(parts) != 3 || parts[0] == "" || parts[2] == "" {
		return dataRef{}, errDataRef
	}
	ref := dataRef{parts[0], parts[1], parts[2]}
	return ref, ref.check()
}

// check looks at the names.
func (r dataRef) check() error {
	if problem := storage.CheckUsername(storage.NormalUsername(r.owner)); !r.own() && problem != "" {
		return errors.New("has the owner " + quoted(r.owner) + ", which " + problem)
	}
	if problem := storage.CheckName(r.namespace); problem != "" {
		return errors.New("has the namespace " + quoted(r.namespace) + ", which " + problem)
	}
	if problem := storage.CheckName(r.name); r.name != "" && problem != "" {
		return errors.New("has the name " + quoted(r.name) + ", which " + problem)
	}
	return nil
}

func quoted(text string) string { return "'" + text + "'" }

// own reports whether it is the acting user's.
func (r dataRef) own() bool { return storage.NormalUsername(r.owner) == storage.Self }

// path is the thing's, behind what is done with it.
func (r dataRef) path(operation string) string {
	path := operation + "/" + url.PathEscape(r.owner) + "/" + url.PathEscape(r.namespace)
	if r.name != "" {
		path += "/" + url.PathEscape(r.name)
	}
	return path
}

// String is how a user would write it.
func (r dataRef) String() string {
	text := r.namespace
	if r.name != "" {
		text += "/" + r.name
	}
	if !r.own() {
		text = r.owner + "/" + text
	}
	return text
}
