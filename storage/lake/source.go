package lake

import (
	"context"

	"parley/storage"
)

// objectSource gives the files of datasets from objects.
type objectSource struct {
	objects Objects
	files   map[string][]storage.DataFile
}

var _ Source = objectSource{}

func newSource(objects Objects, all []storage.DatasetData) objectSource {
	s := objectSource{objects, make(map[string][]storage.DataFile, len(all))}
	for _, data := range all {
		s.files[data.Name] = data.Files
	}
	return s
}

// Hold implements Source. All files are asked for at once, so that no two
// queries wait for each other.
func (s objectSource) Hold(ctx context.Context, tables []string) (map[string][]string, func(), error) {
	var all []storage.DataFile
	for _, name := range tables {
		all = append(all, s.files[name]...)
	}
	paths, release, err := s.objects.Hold(ctx, all)
	if err != nil {
		return nil, nil, lost(err)
	}
	files := make(map[string][]string, len(tables))
	for _, name := range tables {
		count := len(s.files[name])
		files[name], paths = paths[:count:count], paths[count:]
	}
	return files, release, nil
}

// Ready implements Source.
func (s objectSource) Ready(tables []string) (map[string][]string, func()) {
	files := make(map[string][]string, len(tables))
	var held []func()
	for _, name := range tables {
		if _, done := files[name]; done {
			continue
		}
		if paths, release, ok := s.objects.Ready(s.files[name]); ok {
			files[name] = paths
			held = append(held, release)
		}
	}
	return files, func() {
		for _, release := range held {
			release()
		}
	}
}
