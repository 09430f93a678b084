package e2etest

import (
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
)

// Folder is a server's folder that is filled once in a test program. Each test has a copy:
// that is quicker than the ingestions, which start processes.
type Folder struct {
	// Fill fills the folder of a server.
	Fill func(p *Process)
	once sync.Once
	path string
}

// Copy returns a copy of the folder, for one test.
func (f *Folder) Copy(t testing.TB) string {
	t.Helper()
	f.once.Do(func() {
		path, err := os.MkdirTemp("", "parley-e2e-")
		if err != nil {
			t.Fatal(err)
		}
		removed.Store(path, nil)
		p := Serve(t, path, nil)
		f.Fill(p)
		p.Signal(syscall.SIGTERM)
		if code := p.Wait(); code != ExitOK {
			t.Fatalf("the server ended with %d:\n%s", code, p.Log)
		}
		f.path = path
	})
	if f.path == "" {
		t.Fatal("the folder could not be filled: see the first test that failed")
	}
	to := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", f.path+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("copy the folder: %v: %s", err, out)
	}
	return to
}

// removed has the folders that Main removes after all tests.
var removed sync.Map
