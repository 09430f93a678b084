package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// machine describes where the figures were measured. Unknown fields are empty.
type machine struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Memory string `json:"memory"`
	Kernel string `json:"kernel"`
	// Load is the load average at the start: figures of a busy machine are worth less.
	Load string `json:"load"`
}

func thisMachine() machine {
	m := machine{CPU: after("/proc/cpuinfo", "model name"), Cores: runtime.NumCPU(), Kernel: runtime.GOOS + " " + text("/proc/sys/kernel/osrelease")}
	var kib float64
	if _, err := fmt.Sscan(after("/proc/meminfo", "MemTotal"), &kib); err == nil {
		m.Memory = fmt.Sprintf("%.0f GiB", kib/(1<<20))
	}
	if fields := strings.Fields(text("/proc/loadavg")); len(fields) > 2 {
		m.Load = strings.Join(fields[:3], " ")
	}
	return m
}

// text returns a file, "" if there is none.
func text(path string) string {
	content, _ := os.ReadFile(path)
	return strings.TrimSpace(string(content))
}

// after returns what follows a name and a colon in a file.
func after(path, name string) string {
	for line := range strings.Lines(text(path)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == name {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// version is the version of a program or a library.
type version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// versions are those of what was measured, empty for what is missing.
func versions(ctx context.Context) []version {
	return []version{
		{"Parley", commit(ctx)},
		{"Go", strings.TrimPrefix(runtime.Version(), "go")},
		{"DuckDB", duckdb(module(ctx, "github.com/duckdb/duckdb-go/v2"))},
		{"PostgreSQL", postgres(ctx)},
		{"a2a-go", module(ctx, "github.com/a2aproject/a2a-go/v2")},
		{"gin", module(ctx, "github.com/gin-gonic/gin")},
		{"Node.js", output(ctx, "node", "--version")},
		{"@a2a-js/sdk", dependency("@a2a-js/sdk")},
		{"express", dependency("express")},
	}
}

// output is what a program prints, "" if it fails.
func output(ctx context.Context, name string, args ...string) string {
	out, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

func commit(ctx context.Context) string {
	hash := output(ctx, "git", "rev-parse", "--short", "HEAD")
	// Changes of the report do not count.
	if hash != "" && output(ctx, "git", "status", "--porcelain", "--", ".", ":!docs/bench") != "" {
		hash += ", changed"
	}
	return hash
}

func module(ctx context.Context, path string) string {
	return output(ctx, "go", "list", "-m", "-f", "{{.Version}}", path)
}

// duckdb derives the version of DuckDB from that of its library: v2.10505.0 has 1.5.5.
func duckdb(library string) string {
	var n, rest int
	if _, err := fmt.Sscanf(library, "v2.%d.%d", &n, &rest); err != nil {
		return library
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100)
}

// postgres is the version of the server that the tests start: the one in PATH, or
// Debian's newest.
func postgres(ctx context.Context) string {
	program := "postgres"
	if _, err := exec.LookPath(program); err != nil {
		if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/postgres"); len(found) > 0 {
			program = slices.Max(found)
		}
	}
	return strings.TrimPrefix(output(ctx, program, "--version"), "postgres (PostgreSQL) ")
}

// dependency is the version of a package of the Express server.
func dependency(name string) string {
	var file struct{ Dependencies map[string]string }
	_ = json.Unmarshal([]byte(text("a2aserver/testdata/express/package.json")), &file)
	return file.Dependencies[name]
}
