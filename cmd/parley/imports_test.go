package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// mayImport says which packages those of a folder import, besides what is in it:
// see CONVENTIONS.md. "/..." stands for all below. The longest folder that fits a
// package counts.
var mayImport = map[string][]string{
	"cmd":               {"agents/...", "a2aserver", "cards", "internal/...", "llm/...", "rest/...", "storage/..."},
	"a2aserver":         {"storage", "internal/..."},
	"rest":              {"storage", "internal/..."},
	"agents":            {"storage", "llm"},
	"llm":               {},
	"cards":             {},
	"storage":           {},
	"storage/lake":      {"storage", "internal/fair"},
	"storage/objects":   {"storage", "internal/baseurl", "internal/fair"},
	"storage/retention": {"storage"},
	"storage/sqlstore":  {"storage"},
	"storage/trace":     {"storage"},
	"internal":          {"storage"},
}

// TestImports holds the packages to one direction.
func TestImports(t *testing.T) {
	t.Parallel()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	packages := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		from := strings.TrimPrefix(p.ImportPath, "parley/")
		home := ""
		for folder := range mayImport {
			if within(from, folder) && len(folder) > len(home) {
				home = folder
			}
		}
		if home == "" {
			t.Errorf("no rule says what %s imports", from)
		}
		for _, path := range p.Imports {
			to, ours := strings.CutPrefix(path, "parley/")
			allowed := func(rule string) bool {
				folder, all := strings.CutSuffix(rule, "/...")
				return to == folder || all && within(to, folder)
			}
			if ours && !within(to, home) && !slices.ContainsFunc(mayImport[home], allowed) && !strings.HasSuffix(from, "test") {
				t.Errorf("%s imports %s", from, to)
			}
		}
	}
}

// within says whether a package is in a folder.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
