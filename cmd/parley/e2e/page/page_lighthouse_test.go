package page

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"parley/cmd/parley/e2e/helpers/nodetest"
	"parley/cmd/parley/e2e/helpers/servertest"
)

// lowestScore is the lowest score of Lighthouse for accessibility that the page may have, of 1.
const lowestScore = 0.95

// lighthouse returns the scores of a page, for how fast and how accessible it is, on a phone
// with a slow network, which Lighthouse simulates, and the audits that it does not pass.
func lighthouse(t testing.TB, url string) (fast, accessible float64, failed []string) {
	t.Helper()
	dir, err := nodetest.Packages(t, "testdata/lighthouse")
	if err != nil {
		servertest.Lacking(t, "this test needs npm packages: %v", err)
	}
	chromium, err := exec.LookPath(chromiumProgram)
	if err != nil {
		servertest.Lacking(t, "the tests of the page need %s: %v", chromiumProgram, err)
	}
	cmd := exec.CommandContext(t.Context(), "node", filepath.Join(dir, "node_modules/lighthouse/cli/index.js"), url, "--quiet", "--output=json",
		"--only-categories=performance,accessibility", "--throttling-method=simulate", "--chrome-flags=--headless --no-sandbox --disable-gpu --disable-dev-shm-usage")
	cmd.Env = append(os.Environ(), "CHROME_PATH="+chromium, "TMPDIR="+t.TempDir())
	cmd.Stderr = t.Output()
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var report struct {
		Categories map[string]struct{ Score float64 }
		Audits     map[string]struct {
			Score        *float64
			Title        string
			DisplayValue string
		}
	}
	if err := json.Unmarshal(output, &report); err != nil {
		t.Fatal(err)
	}
	for _, audit := range report.Audits {
		if audit.Score != nil && *audit.Score < lowestScore {
			failed = append(failed, audit.Title+" "+audit.DisplayValue)
		}
	}
	return report.Categories["performance"].Score, report.Categories["accessibility"].Score, failed
}

// BenchmarkPageLighthouse measures how fast the first page of the demo is, and checks how accessible it is.
func BenchmarkPageLighthouse(b *testing.B) {
	c, _ := demoServer(b)
	for b.Loop() {
		fast, accessible, failed := lighthouse(b, c.URL+"/#token="+c.Token)
		if accessible < lowestScore {
			b.Errorf("the score is %v: %q", accessible, failed)
		}
		b.ReportMetric(100*fast, "score")
	}
}
