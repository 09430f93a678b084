package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// mayImport says which packages of ours those of a folder import, besides what is in
// it. "/..." stands for all below. The longest folder that fits a package counts. This
// is the only list of who may import whom; CONVENTIONS.md says why.
var mayImport = map[string][]string{
	"cmd": {"agents/...", "a2aserver/...", "cards", "internal/...", "llm/...", "rest/...", "storage/..."},
	// The server has no DuckDB: only a process that starts as a worker becomes
	// storage/datasets/engine.
	"cmd/parley/internal": {"agents/...", "a2aserver/...", "cards", "internal/...", "llm/...", "rest/...", "storage/datasets",
		"storage/objects", "storage/retention", "storage/sqlstore", "storage/trace", "storage/uploads"},
	"a2aserver":         {"internal/..."},
	"a2aserver/a2ajson": {"internal/domain", "internal/jsontext"},
	"a2aserver/jsonrpc": {"internal/domain", "internal/jsonscan", "internal/jsontext"},
	"a2aserver/modes":   {"internal/jsontext"},
	"a2aserver/params":  {"internal/domain", "internal/jsonscan"},
	"a2aserver/push":    {"internal/domain", "internal/jobs", "internal/retry", "internal/safehttp", "internal/seal"},
	"rest":              {"internal/...", "storage/sqlstore", "storage/uploads"},
	"rest/mcp":          {"internal/auth", "internal/domain", "internal/fair", "internal/jsonscan", "internal/jsontext", "internal/locale", "storage/sqlstore"},
	"rest/middleware":   {"internal/slogctx", "internal/sse"},
	"agents":            {"internal/domain", "llm", "internal/jsontext", "internal/locale", "internal/lru", "internal/retry", "internal/unitname"},
	"agents/chart":      {"internal/domain", "internal/jsonscan", "internal/locale", "internal/unitname"},
	"llm":               {"internal/fair", "internal/jsonscan", "internal/locale", "internal/lru", "internal/near", "internal/retry", "internal/sqltext", "internal/unitname", "internal/words", "internal/worktime"},
	"cards":             {"internal/baseurl", "internal/lru"},
	"storage/datasets":  {"internal/disk", "internal/domain", "storage/profile", "internal/fair", "internal/fsync", "internal/jobs", "internal/jsonscan", "internal/locale", "internal/lru", "internal/near", "internal/retry", "internal/sqltext", "internal/unitname", "internal/words", "internal/worktime"},
	"storage/objects":   {"internal/disk", "internal/domain", "internal/baseurl", "internal/fair", "internal/fsync", "internal/lru"},
	"storage/profile":   {"internal/domain"},
	"storage/retention": {"internal/domain", "internal/jobs", "storage/sqlstore"},
	"storage/sqlstore":  {"internal/domain", "internal/fair", "internal/jobs", "storage/profile"},
	"storage/trace":     {"internal/domain", "internal/jobs", "internal/retry", "storage/sqlstore"},
	"storage/uploads":   {"internal/disk", "internal/domain", "storage/objects", "storage/sqlstore"},
	"internal":          {},
}

// homes says which folders import a library: each has one home, so that an upgrade
// touches one folder. A path stands for all below it.
var homes = map[string][]string{
	"database/sql":                          {"storage/sqlstore", "storage/datasets", "llm/reader/train"},
	"github.com/a2aproject/a2a-go":          {"a2aserver", "agents", "cards", "cmd"},
	"github.com/alecthomas/kong":            {"cmd"},
	"github.com/cenkalti/backoff":           {"internal/retry"},
	"github.com/duckdb":                     {"storage/datasets/engine", "llm/reader/train"},
	"github.com/gin-gonic":                  {"rest"},
	"github.com/go-jose":                    {"cards", "internal/auth"},
	"github.com/go-logr/logr":               {"storage/trace"},
	"github.com/golang-jwt":                 {"internal/auth"},
	"github.com/google/go-cmp":              {"cmd/parley/e2e/helpers/golden"},
	"github.com/gowebpki/jcs":               {"cards"},
	"github.com/jmoiron/sqlx":               {"storage/sqlstore"},
	"github.com/klippa-app/go-pdfium":       {"storage/datasets/ingest"},
	"github.com/lib/pq":                     {"storage/sqlstore"},
	"github.com/mattn/go-runewidth":         {"cmd/parley/internal/console"},
	"github.com/minio":                      {"storage/objects"},
	"github.com/modelcontextprotocol":       {"rest/mcp", "cmd"},
	"github.com/pressly/goose":              {"storage/sqlstore"},
	"github.com/prometheus/client_golang":   {"cmd", "rest"},
	"github.com/tetratelabs/wazero":         {"storage/datasets/ingest"},
	"github.com/tmc/langchaingo":            {"llm"},
	"github.com/xuri/excelize":              {"storage/datasets/ingest"},
	"github.com/yuin/goldmark":              {"rest/openapi"},
	"go.opentelemetry.io":                   {"storage/trace"},
	"go.yaml.in/yaml":                       {"rest/openapi"},
	"golang.org/x/net/html":                 {"storage/datasets/ingest"},
	"golang.org/x/oauth2":                   {"internal/auth", "cmd/parley/internal/login"},
	"golang.org/x/sys/cpu":                  {"llm/reader/net"},
	"golang.org/x/sys/unix":                 {"internal/disk", "storage/datasets/sandbox"},
	"golang.org/x/text/language":            {"internal/locale"},
	"golang.org/x/text/message":             {"internal/locale"},
	"google.golang.org/grpc":                {"a2aserver"},
	"modernc.org/sqlite":                    {"storage/sqlstore", "storage/datasets/ingest"},
	"net/http":                              {"a2aserver", "cmd", "internal", "llm", "rest", "storage/objects", "storage/trace"},
	"parley/cmd/parley/e2e/helpers/e2etest": {},
	"parley/cmd/parley/e2e/helpers/golden":  {},
	"parley/storage/datasets/engine":        {"cmd/parley"},
}

// TestImports holds the packages to one direction, and the libraries to their homes.
func TestImports(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		from := strings.TrimPrefix(p.ImportPath, "parley/")
		if strings.HasSuffix(from, "test") {
			continue // helpers of tests may use everything
		}
		rule := ruleOf(from)
		if rule == "" {
			t.Errorf("no rule says what %s imports", from)
		}
		for _, path := range p.Imports {
			if to, ours := strings.CutPrefix(path, "parley/"); ours && !allowed(rule, to) {
				t.Errorf("%s imports %s", from, to)
			}
			for library, folders := range homes {
				home := func(folder string) bool { return within(from, folder) }
				if within(path, library) && !slices.ContainsFunc(folders, home) {
					t.Errorf("%s imports %s, which is for %q", from, path, folders)
				}
			}
		}
	}
}

// listed is a package as `go list` describes it, without its tests.
type listed struct {
	ImportPath string
	Imports    []string
}

// packages lists those of the module.
func packages(t *testing.T) (all []listed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", "./...")
	cmd.Dir = e2etest.Root(t)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// ruleOf returns the longest folder with a rule that a package is in.
func ruleOf(path string) (rule string) {
	for folder := range mayImport {
		if within(path, folder) && len(folder) > len(rule) {
			rule = folder
		}
	}
	return rule
}

// allowed says whether packages under a rule may import a package.
func allowed(rule, to string) bool {
	return within(to, rule) || slices.ContainsFunc(mayImport[rule], func(pattern string) bool {
		folder, all := strings.CutSuffix(pattern, "/...")
		return to == folder || all && within(to, folder)
	})
}

// within says whether a package is in a folder.
func within(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }
