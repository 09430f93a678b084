package demo

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"parley/cmd/parley/internal/datadir"
)

// markFile marks the data folder of a demo. It has the state of the sample.
const (
	markFile      = "sample"
	sampleStarted = "begun\n"
	sampleLoaded  = "loaded\n"
)

// dataFolder is the data folder of a demo.
type dataFolder struct {
	path      string
	temporary bool
	// started says that loading the sample has started, loaded that it is complete.
	started, loaded bool
}

// openFolder creates a temporary folder, or opens the given one, which must be new, empty
// or of an earlier demo.
func openFolder(path string) (*dataFolder, error) {
	if path == "" {
		path, err := os.MkdirTemp("", "parley-demo-")
		if err != nil {
			return nil, fmt.Errorf("make a temporary folder: %w", err)
		}
		return &dataFolder{path: path, temporary: true}, nil
	}
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file; give a folder with --data, or none", path)
	}
	mark, err := os.ReadFile(filepath.Join(path, markFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read the data folder: %w", err)
	}
	if text := string(mark); text == sampleStarted || text == sampleLoaded {
		return &dataFolder{path: path, started: true, loaded: text == sampleLoaded}, nil
	}
	if entries, err := os.ReadDir(path); err == nil && len(entries) > 0 {
		return nil, fmt.Errorf("the folder %s holds other data; choose a new folder with --data, or leave it out", path)
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, fmt.Errorf("make the data folder: %w", err)
	}
	folder := &dataFolder{path: path}
	return folder, folder.mark(sampleStarted)
}

// markLoaded records that the sample is complete.
func (f *dataFolder) markLoaded() error {
	if f.temporary {
		return nil
	}
	return f.mark(sampleLoaded)
}

func (f *dataFolder) mark(text string) error {
	if err := datadir.WriteFile(filepath.Join(f.path, markFile), []byte(text)); err != nil {
		return fmt.Errorf("write to the data folder: %w", err)
	}
	return nil
}

// onExit describes what happens to the folder at the end.
func (f *dataFolder) onExit() string {
	if f.temporary {
		return "removes the data, which is in " + f.path
	}
	return "leaves the data in " + f.path + ", for another time"
}

// close removes a temporary folder.
func (f *dataFolder) close() error {
	if !f.temporary {
		return nil
	}
	if err := os.RemoveAll(f.path); err != nil {
		return fmt.Errorf("remove the temporary folder: %w", err)
	}
	return nil
}

// afterExit describes what close did.
func (f *dataFolder) afterExit() string {
	if f.temporary {
		return "Removed " + f.path + "."
	}
	return "The data is kept in " + f.path + "."
}
