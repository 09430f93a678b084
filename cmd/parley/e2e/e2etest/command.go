package e2etest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// building lets the second who builds find what the first has compiled.
var building sync.Mutex

// BuildCommand builds the command in its own module, which has its own
// dependencies and their sums.
func BuildCommand(t *testing.T) string {
	t.Helper()
	building.Lock()
	defer building.Unlock()
	found, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "github.com/a2aproject/a2a-go/v2").Output()
	if err != nil {
		t.Fatalf("find the SDK: %v", err)
	}
	path := filepath.Join(t.TempDir(), "a2a")
	build := exec.CommandContext(t.Context(), "go", "build", "-C", strings.TrimSpace(string(found)), "-trimpath", "-buildvcs=false", "-o", path, "./cmd/a2a")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the a2a command: %v\n%s", err, output)
	}
	return path
}
