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

// welcomeScreen is shown when the demo is ready.
type welcomeScreen struct {
	URL        string
	Alice, Bob string // their tokens
	Program    string // the command for parley
	Folder     string // what happens to the data
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

// programName is the command that runs this program again: the one that was typed, unless
// `go run` built it into a temporary folder or the build cache.
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
