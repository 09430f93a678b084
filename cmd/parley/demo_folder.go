package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"parley/cmd/parley/internal/datadir"
)

// demoMark is the file that tells a demo's data folder from others. It says how
// far the sample is.
const (
	demoMark    = "sample"
	sampleBegun = "begun\n"
	sampleThere = "loaded\n"
)

// demoFolder is the data folder of a demo.
type demoFolder struct {
	path      string
	temporary bool
	// begun says that the sample began to be loaded, loaded that it is all there.
	begun, loaded bool
}

// openDemoFolder makes a temporary folder, or takes the one that is given: it
// must be new, empty or of an earlier demo.
func openDemoFolder(path string) (*demoFolder, error) {
	if path == "" {
		path, err := os.MkdirTemp("", "parley-demo-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
		return &demoFolder{path: path, temporary: true}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; give a folder with --data, or none", path)
	}
	said, err := os.ReadFile(filepath.Join(path, demoMark))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the data folder: %w", err)
	}
	if text := string(said); text == sampleBegun || text == sampleThere {
		return &demoFolder{path: path, begun: true, loaded: text == sampleThere}, nil
	}
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("the folder %s holds other data, which a demo leaves alone; give it a new folder with --data, or none", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	folder := &demoFolder{path: path}
	return folder, folder.mark(sampleBegun)
}

// markLoaded notes that the sample is all there.
func (f *demoFolder) markLoaded() error {
	if f.temporary {
		return nil
	}
	return f.mark(sampleThere)
}

func (f *demoFolder) mark(text string) error {
	if err := datadir.WriteFile(filepath.Join(f.path, demoMark), []byte(text)); err != nil {
		return fmt.Errorf("write to the data folder: %w", err)
	}
	return nil
}

// fate says what becomes of the folder.
func (f *demoFolder) fate() string {
	if f.temporary {
		return "removes the data, which is in " + f.path
	}
	return "leaves the data in " + f.path + ", for another time"
}

// close removes a temporary folder.
func (f *demoFolder) close() error {
	if !f.temporary {
		return nil
	}
	if err := os.RemoveAll(f.path); err != nil {
		return fmt.Errorf("remove the temporary folder: %w", err)
	}
	return nil
}

// became says what close did.
func (f *demoFolder) became() string {
	if f.temporary {
		return "Removed " + f.path + "."
	}
	return "The data is kept in " + f.path + "."
}
