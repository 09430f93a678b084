package server

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"parley/rest/openapi"
)

// TestSpectral has Spectral look for anything to say about the description, with
// and without an identity provider.
func TestSpectral(t *testing.T) {
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
	if said, err := spectral(t, packages, rules, plain, full); err != nil {
		t.Errorf("%v\n%s", err, said)
	}

	// It does look.
	var exit *exec.ExitError
	broken := file("broken.yaml", []byte("openapi: 3.1.0\ninfo: {title: Broken, version: '1'}\npaths: {/a: {get: {responses: {}}}}\n"))
	if said, err := spectral(t, packages, rules, broken); !errors.As(err, &exit) {
		t.Errorf("a broken description passes: %v\n%s", err, said)
	}
}

func spectral(t *testing.T, packages, rules string, files ...string) ([]byte, error) {
	t.Helper()
	args := []string{
		filepath.Join(packages, "node_modules/@stoplight/spectral-cli/dist/index.js"),
		"lint", "--ruleset", rules, "--fail-severity", "hint",
	}
	return exec.CommandContext(t.Context(), "node", append(args, files...)...).CombinedOutput()
}
