package clients

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/golden"
	"parley/cmd/parley/e2e/helpers/nodetest"
)

// TestPython runs each script with the packages that its list names. What it prints is compared
// with a golden file.
func TestPython(t *testing.T) {
	t.Parallel()
	wanted(t)
	scripts, err := filepath.Glob("testdata/python/*.py")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, script := range scripts {
		name := strings.TrimSuffix(filepath.Base(script), ".py")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Isolated, so that a script can have the name of the package that it imports.
			run(t, "python/"+name, packages(t, "testdata/python/"+name+".txt"), "-I", "-B", script)
		})
	}
}

// TestInspector runs the command line of the MCP Inspector.
func TestInspector(t *testing.T) {
	t.Parallel()
	wanted(t)
	dir, err := nodetest.Packages(t, "testdata/inspector")
	if err != nil {
		t.Skipf("SKIPPED for want of npm packages: %v", err)
	}
	run(t, "inspector/inspector", "bash", "testdata/inspector/inspector.sh", filepath.Join(dir, "node_modules", ".bin", "mcp-inspector"))
}

// wanted skips a test that PARLEY_TEST does not ask for: it installs packages.
func wanted(t *testing.T) {
	t.Helper()
	if os.Getenv("PARLEY_TEST") != "clients" {
		t.Skip("PARLEY_TEST=clients installs the clients and runs them")
	}
}

// run runs a client against a server with two namespaces, and compares what it prints with a
// golden file.
func run(t *testing.T, name, program string, args ...string) {
	t.Helper()
	c := e2etest.Shop(t)
	c.NewWorkshop()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "BASE="+c.URL+"/api/v1", "TOKEN="+c.Token, "HOME="+t.TempDir(), "PARLEY="+e2etest.Program(t))
	for _, namespace := range []string{"shop", "workshop"} {
		var restricted struct{ Token string }
		scope := e2etest.Object{"username": "self", "namespace": namespace}
		if status := c.Ask("POST", "/user/token", e2etest.Object{"name": namespace, "accessRestrictedTo": []e2etest.Object{scope}}, &restricted); status != http.StatusOK {
			t.Fatalf("token: %d", status)
		}
		cmd.Env = append(cmd.Env, strings.ToUpper(namespace)+"_TOKEN="+restricted.Token)
	}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v\n%s%s", err, output, stderr.String())
	}
	golden.Assert(t, name+".golden", golden.Scrub(output))
}

// packages returns the Python of a virtual environment with the packages of a list. It skips the
// test if this machine cannot install them.
func packages(t *testing.T, list string) (python string) {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "python3", "--version").Output()
	if err != nil {
		t.Skipf("SKIPPED for want of Python 3: %v", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cache = filepath.Join(cache, "parley-clients")
	if err := os.MkdirAll(cache, 0o700); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(list), ".txt")
	dir := filepath.Join(cache, fmt.Sprintf("%s-%.16x", name, sha256.Sum256([]byte(string(version)+e2etest.ReadFile(t, list)))))
	python = filepath.Join(dir, "bin", "python")
	if e2etest.Exists(dir, "bin/python") {
		return python
	}
	// It appears whole or not at all. Moving it breaks its other programs, which have its path.
	fresh, err := os.MkdirTemp(cache, "fresh-")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(fresh) }()
	if output, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", fresh).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED for want of venv: %v\n%s", err, output)
	}
	pip := func(args ...string) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(fresh, "bin", "python"), append([]string{"-m", "pip", "--quiet", "--disable-pip-version-check"}, args...)...)
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
	if output, err := pip("install", "--no-deps", "-r", list); err != nil {
		if output, err := pip("download", "--no-deps", "--no-cache-dir", "--dest", t.TempDir(), "pip"); err != nil {
			t.Skipf("SKIPPED for want of Python packages: %v\n%s", err, output)
		}
		t.Fatalf("pip install: %v\n%s", err, output)
	}
	if err := os.Rename(fresh, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		t.Fatal(err)
	}
	return python
}
