package apiclient

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/internal/domain"
)

// LocalFile is an open file to upload.
type LocalFile struct {
	Path     string // absolute
	Size     int64
	Modified time.Time
	Progress Progress
	file     *os.File
}

// File returns the file for an upload.
func (f *LocalFile) File() File {
	return File{Name: filepath.Base(f.Path), SectionReader: io.NewSectionReader(f.file, 0, f.Size)}
}

// OpenFiles opens all files, or returns the problems of all.
func OpenFiles(names []string) (files []*LocalFile, err error) {
	var problems []string
	for _, name := range names {
		file, err := OpenFile(name)
		if err != nil {
			problems = append(problems, err.Error())
			continue
		}
		files = append(files, file)
	}
	if len(problems) > 0 {
		CloseFiles(files)
		return nil, errors.New(strings.Join(problems, "\n  "))
	}
	return files, nil
}

// CloseFiles closes files.
func CloseFiles(files []*LocalFile) {
	for _, file := range files {
		_ = file.file.Close() // it was only read
	}
}

// OpenFile opens a regular file that is not empty.
func OpenFile(name string) (*LocalFile, error) {
	info, err := os.Stat(name) // before opening: a pipe would wait for a writer
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("there is no file %s", name)
	case err != nil:
		return nil, fmt.Errorf("look at %s: %w", name, reason(err))
	case info.IsDir():
		return nil, fmt.Errorf("%s is a folder: name the files in it", name)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file: its size must be known first", name)
	case info.Size() == 0:
		return nil, fmt.Errorf("%s is empty", name)
	}
	if problem := domain.CheckFilename(filepath.Base(name)); problem != "" {
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
	return &LocalFile{file: file, Path: path, Size: info.Size(), Modified: info.ModTime()}, nil
}

// reason is the error of a file operation without the file name.
func reason(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}

// Unchanged checks that a file has not changed since it was opened.
func (f *LocalFile) Unchanged() error {
	info, err := f.file.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", f.Path, reason(err))
	}
	if info.Size() != f.Size || !info.ModTime().Equal(f.Modified) {
		return fmt.Errorf("%s changed during the upload: run the command again", f.Path)
	}
	return nil
}
