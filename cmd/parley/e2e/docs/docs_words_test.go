package docs

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

var (
	// link finds where a text links to, and what pictures it shows.
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	// code finds code within a line.
	code = regexp.MustCompile("`([^`\n]+)`")
	// located finds a row that names a file and a function in it.
	located = regexp.MustCompile("\\| `([^`]+\\.go)` \\| `(\\w+)` \\|")
)

// TestDocumentedLinks follows every link within the documents.
func TestDocumentedLinks(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	for path, text := range texts {
		for _, found := range link.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			target := found[1] + found[2]
			if strings.Contains(target, "://") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			to := path
			if file != "" {
				to = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(filepath.Join(e2etest.Root(t), to)); err != nil {
				t.Errorf("%s links to %s: %v", path, target, err)
			}
			if anchor != "" && !slices.Contains(anchors(texts[to]), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", path, target)
			}
		}
	}
}

// anchors returns the names by which a text's headings can be linked to.
func anchors(text string) (names []string) {
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, found[1]))
	}
	return names
}

// TestDocumentedWords has the documents name only commands, flags, benchmarks, files of Go
// and functions in them that there are, and show JSON that is JSON.
func TestDocumentedWords(t *testing.T) {
	t.Parallel()
	have, known := commands(t), map[string]bool{}
	for _, flags := range have {
		for _, flag := range flags {
			known[flag.name] = true
		}
	}
	for path, text := range documents(t) {
		for _, found := range code.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			words := strings.Fields(found[1])
			switch {
			case len(words) > 1 && words[0] == "parley" && unicode.IsLower(rune(words[1][0])):
				if _, is := have[words[1]]; !is {
					t.Errorf("%s: there is no command %q", path, found[1])
				}
			case strings.HasPrefix(words[0], "--") && !known[words[0]]:
				t.Errorf("%s: there is no flag %q", path, found[1])
			case strings.HasPrefix(found[1], "go test -run '^$' -bench "):
				checkBenchmark(t, words)
			case strings.HasSuffix(found[1], ".go") && !isFile(t, found[1]):
				t.Errorf("%s: there is no file %s", path, found[1])
			}
		}
		for _, row := range located.FindAllStringSubmatch(text, -1) {
			declared := regexp.MustCompile(`(?m)^(func (\(.*?\) )?|\t?(const |var )?)` + row[2] + `\b`)
			if !declared.MatchString(e2etest.ReadFile(t, filepath.Join(e2etest.Root(t), row[1]))) {
				t.Errorf("%s: there is no %s in %s", path, row[2], row[1])
			}
		}
		for _, found := range fence.FindAllStringSubmatch(text, -1) {
			if found[1] == "json" && !json.Valid([]byte(found[2])) {
				t.Errorf("%s: this is not JSON:\n%s", path, found[2])
			}
		}
	}
}

// isFile reports whether there is a file with a path; a name alone is looked for in all
// folders.
func isFile(t *testing.T, path string) bool {
	t.Helper()
	folders := []string{""}
	if !strings.Contains(path, "/") {
		folders = []string{"*", "*/*", "*/*/*", "*/*/*/*"}
	}
	return slices.ContainsFunc(folders, func(folder string) bool {
		files, err := filepath.Glob(filepath.Join(e2etest.Root(t), folder, path))
		if err != nil {
			t.Fatal(err)
		}
		return len(files) > 0
	})
}

// checkBenchmark looks for the benchmarks that a command names.
func checkBenchmark(t *testing.T, words []string) {
	t.Helper()
	name, dir := words[slices.Index(words, "-bench")+1], words[len(words)-1]
	files, err := filepath.Glob(filepath.Join(e2etest.Root(t), dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	is := regexp.MustCompile(`(?m)^func Benchmark\w*` + name)
	if !slices.ContainsFunc(files, func(file string) bool { return is.MatchString(e2etest.ReadFile(t, file)) }) {
		t.Errorf("%s has no benchmark %q", dir, name)
	}
}

// TestDocumentsListEverySetting holds the tables of settings to the flags there
// are: each is in a row, with its variable.
func TestDocumentsListEverySetting(t *testing.T) {
	t.Parallel()
	texts := documents(t)
	var rows []string
	for _, path := range []string{"docs/running.md", "docs/eval.md", "docs/cli.md"} {
		rows = append(rows, strings.Split(texts[path], "\n")...)
	}
	for name, flags := range commands(t) {
		for _, flag := range flags {
			if flag.name == "--help" || flag.name == "--version" {
				continue
			}
			needs := []string{"`" + flag.name + "`"}
			if len(flag.variables) > 0 {
				needs = append(needs, "`"+flag.variables[0]+"`")
			}
			tells := func(row string) bool {
				return !slices.ContainsFunc(needs, func(need string) bool { return !strings.Contains(row, need) })
			}
			if !slices.ContainsFunc(rows, tells) {
				t.Errorf("no document has a row with %q of parley %s", needs, name)
			}
		}
	}
}
