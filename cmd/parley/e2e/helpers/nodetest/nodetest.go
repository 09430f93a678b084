// Package nodetest gives tests npm packages, and programs of Node.js that use
// them.
package nodetest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Packages returns a folder with the npm packages that the package-lock.json of
// another folder names. They are kept from one run of the tests to the next. The
// error says what this machine lacks.
func Packages(t testing.TB, source string) (dir string, err error) {
	t.Helper()
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			return "", err
		}
	}
	lock, err := os.ReadFile(filepath.Join(source, "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = t.TempDir()
	}
	dir = filepath.Join(cache, "parley-test", fmt.Sprintf("npm-%s-%x", filepath.Base(source), sha256.Sum256(lock)))
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	// It appears whole or not at all: another test run may be at the same.
	fresh, err := os.MkdirTemp(filepath.Dir(dir), "npm-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	for _, file := range []string{"package.json", "package-lock.json"} {
		copyFile(t, filepath.Join(source, file), fresh)
	}
	npm := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	npm.Dir = fresh
	if output, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, output)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return dir, nil
}

// Script returns the path of a copy of a script that finds the packages of a
// folder that Packages gave: they are looked for beside it.
func Script(t testing.TB, packages, script string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(packages, "node_modules"), filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return copyFile(t, script, dir)
}

// copyFile copies a file into a folder and gives its path there.
func copyFile(t testing.TB, source, dir string) string {
	t.Helper()
	path := filepath.Join(dir, filepath.Base(source))
	text, err := os.ReadFile(source)
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}
