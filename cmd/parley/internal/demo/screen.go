package demo

import (
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/template"
)

// welcomeScreen is what a demo shows when it is ready.
type welcomeScreen struct {
	URL        string
	Alice, Bob string // their tokens
	Program    string // what to type for parley
	Folder     string // what becomes of the data
	Models     string // the language models, "" for none
}

//go:embed screen.txt
var screenText string

var screenTemplate = template.Must(template.New("demo").Parse(screenText))

func (s welcomeScreen) print(w io.Writer) error {
	if err := screenTemplate.Execute(w, s); err != nil {
		return fmt.Errorf("show the demo: %w", err)
	}
	return nil
}

// programName is what to type to run this program again: what was typed, unless
// it was built by `go run` and lies where only Go finds it, in a folder for one
// build or in the cache of builds.
func programName(executable, typed string) string {
	cache := os.Getenv("GOCACHE")
	if strings.Contains(filepath.ToSlash(executable), "/go-build") || cache != "" && strings.HasPrefix(executable, cache) {
		return "go run parley/cmd/parley"
	}
	if strings.Trim(typed, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-") == "" {
		return typed
	}
	return "'" + strings.ReplaceAll(typed, "'", `'\''`) + "'"
}
