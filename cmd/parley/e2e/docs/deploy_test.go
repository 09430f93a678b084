package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestImageHasTheSources sees that what the image is built from holds every
// folder that the program is made of.
func TestImageHasTheSources(t *testing.T) {
	t.Parallel()
	ignored := e2etest.ReadFile(t, "../../../../.dockerignore")
	entries, err := os.ReadDir("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		name := entry.Name()
		if !entry.IsDir() || strings.HasPrefix(name, ".") || name == "docs" || name == "deploy" || name == "bin" || name == "dist" || name == "parley-data" {
			continue
		}
		if !strings.Contains(ignored, "\n!"+name+"\n") {
			t.Errorf(".dockerignore leaves out %s", name)
		}
	}
}

// TestDeploymentsUseRealSettings holds the variables in the files for containers
// to the settings there are.
func TestDeploymentsUseRealSettings(t *testing.T) {
	t.Parallel()
	settings := e2etest.ReadFile(t, "../../../../docs/running.md")
	// These are those of compose.yaml itself, for passwords.
	own := []string{"PARLEY_BUCKET_SECRET", "PARLEY_DATABASE_PASSWORD"}
	for _, file := range []string{"../../../../Dockerfile", "../../../../compose.yaml"} {
		for _, name := range regexp.MustCompile(`PARLEY_[A-Z_]+`).FindAllString(e2etest.ReadFile(t, file), -1) {
			if !strings.Contains(settings, "`"+name+"`") && !strings.Contains(strings.Join(own, " "), name) {
				t.Errorf("%s sets %s, which is no setting", file, name)
			}
		}
	}
}
