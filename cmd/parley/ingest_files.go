package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/apiclient"
	"parley/storage"
)

// localFile is a file that is to be ingested.
type localFile struct {
	*os.File
	path     string // absolute
	size     int64
	modified time.Time
	progress apiclient.Progress
}

// toSend is the file as it is sent.
func (f *localFile) toSend() apiclient.File {
	return apiclient.File{Name: filepath.Base(f.path), SectionReader: io.NewSectionReader(f, 0, f.size)}
}

// openFiles opens all files, or says what is wrong with each.
func openFiles(names []string) (files []*localFile, err error) {
	var problems []string
	for _, name := range names {
		file, err := openLocal(name)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		files = append(files, file)
	}
	if len(problems) > 0 {
		closeFiles(files)
		return nil, errors.New(strings.Join(problems, "\n  "))
	}
	return files, nil
}

func closeFiles(files []*localFile) {
	for _, file := range files {
		_ = file.Close() // it was only read
	}
}

func openLocal(name string) (*localFile, error) {
	info, err := os.Stat(name) // before opening: a pipe would wait for a writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", name)
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", name, reason(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name the files in it", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is no regular file: its size must be known beforehand", name)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is empty", name)
	}
	if problem := storage.CheckFilename(filepath.Base(name)); problem != "" {
		return nil, fmt.Errorf("the name of %s %s", name, problem)
	}
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", name, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", name, reason(err))
	}
	return &localFile{File: file, path: path, size: info.Size(), modified: info.ModTime()}, nil
}

// reason is why something could not be done with a file, without its name.
func reason(err error) error {
	var failed *fs.PathError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// unchanged checks that a file is still what it was when it was opened.
func (f *localFile) unchanged() error {
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.path, reason(err))
	}
	if info.Size() != f.size || !info.ModTime().Equal(f.modified) {
		return fmt.Errorf("%s has changed while it was sent: run the command again", f.path)
	}
	return nil
}
