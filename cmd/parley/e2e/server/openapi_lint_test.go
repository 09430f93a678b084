package server

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/rest/openapi"
)

// TestSpectral has Spectral look for anything to say about the description: with an
// identity provider, and in full runs without, where it says less. A broken description
// shows that it does look.
func TestSpectral(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	packages := installed(t, "spectral")
	dir := t.TempDir()
	file := func(name string, text []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	at := openapi.Addresses{BaseURL: "https://parley.example:8443/data/api/v1"}
	plain := file("plain.yaml", openapi.Document(at))
	at.AuthURL = "https://id.example/realms/one/authorize?prompt=login&a=b"
	rules, full := file("rules.yaml", []byte("extends: spectral:oas\n")), file("full.yaml", openapi.Document(at))
	broken := file("broken.yaml", []byte("openapi: 3.1.0\ninfo: {title: Broken, version: '1'}\npaths: {/a: {get: {responses: {}}}}\n"))
	files := append([]string{full, plain}[:fulltest.Count(1, 2)], broken)
	found := map[string]int{}
	for _, problem := range spectral(t, packages, rules, files...) {
		found[problem.Source]++
		if problem.Source != broken {
			t.Errorf("%+v", problem)
		}
	}
	if found[broken] == 0 {
		t.Error("a broken description passes")
	}
}

// problem is something that Spectral has to say about a file.
type problem struct {
	Source, Code, Message string
	Path                  []any
}

// spectral returns the problems of files, of which one at least must have some.
func spectral(t *testing.T, packages, rules string, files ...string) (problems []problem) {
	t.Helper()
	args := []string{
		filepath.Join(packages, "node_modules/@stoplight/spectral-cli/dist/index.js"),
		"lint", "--ruleset", rules, "--fail-severity", "hint", "--format", "json",
	}
	node := exec.CommandContext(t.Context(), "node", append(args, files...)...)
	node.Stderr = t.Output()
	said, err := node.Output()
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, said)
	}
	if err := json.Unmarshal(said, &problems); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	return problems
}
