package datasets

import (
	"context"

	"parley/internal/domain"
)

// Source returns the files of named tables, which stay until release.
type Source interface {
	// Hold fetches the files that are not here.
	Hold(ctx context.Context, tables []string) (release func(), err error)
	// Ready returns the files when all are here. It reports whether they are.
	Ready(tables []string) (files map[string][]string, release func(), ok bool)
	// Verify compares the files with the records, after they could not be read. A damaged one
	// is domain.ErrNotFound.
	Verify(ctx context.Context, tables []string) error
}

// objectSource returns the files of datasets from objects.
type objectSource struct {
	objects Objects
	files   map[string][]domain.DataFile
}

var _ Source = objectSource{}

func newSource(objects Objects, all []domain.DatasetData) objectSource {
	s := objectSource{objects, make(map[string][]domain.DataFile, len(all))}
	for _, data := range all {
		s.files[data.Name] = data.Files
	}
	return s
}

func (s objectSource) filesOf(tables []string) (all []domain.DataFile) {
	for _, name := range tables {
		all = append(all, s.files[name]...)
	}
	return all
}

// Hold implements Source. It holds all files at once, so that no two queries wait for
// each other.
func (s objectSource) Hold(ctx context.Context, tables []string) (func(), error) {
	_, release, err := s.objects.Hold(ctx, s.filesOf(tables))
	return release, asDamaged(err)
}

// Ready implements Source.
func (s objectSource) Ready(tables []string) (map[string][]string, func(), bool) {
	paths, release, ok := s.objects.Ready(s.filesOf(tables))
	if !ok {
		return nil, nil, false
	}
	files := make(map[string][]string, len(tables))
	for _, name := range tables {
		count := len(s.files[name])
		files[name], paths = paths[:count:count], paths[count:]
	}
	return files, release, true
}

// Verify implements Source.
func (s objectSource) Verify(ctx context.Context, tables []string) error {
	return s.objects.Verify(ctx, s.filesOf(tables))
}

// tableFiles returns the files that tables have themselves.
type tableFiles []Table

// Hold implements Source.
func (tableFiles) Hold(context.Context, []string) (func(), error) { return func() {}, nil }

// Ready implements Source.
func (all tableFiles) Ready([]string) (map[string][]string, func(), bool) {
	files := make(map[string][]string, len(all))
	for _, t := range all {
		files[t.Name] = t.Files
	}
	return files, func() {}, true
}

// Verify implements Source.
func (tableFiles) Verify(context.Context, []string) error { return nil }
