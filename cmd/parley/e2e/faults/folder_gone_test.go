package faults

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestDataFolderVanishes takes the data folder of a running server away, whole or
// in part, and puts it back.
func TestDataFolderVanishes(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ gone, store string }{
		"data folder": {".", "database"},
		"objects":     {"objects", "object store"},
		"datasets":    {"objects/objects", "object store"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := e2etest.Serve(t, dir, nil)
			c := e2etest.Client{Process: p, Token: p.Token("alice")}
			rows := e2etest.Object{"data": []e2etest.Object{{"n": 1}}}
			operations := map[string]func() int{
				"rows": func() int { return c.Ask("POST", "/ingest/shop/orders", rows, nil) },
				"query": func() int {
					return c.Ask("POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT count(*) AS n FROM orders"}, nil)
				},
				"upload": func() int {
					return c.Ask("POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "a.csv", "size": 9}}}, nil)
				},
			}
			c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
			c.Ask("POST", "/ingest/shop/orders", rows, nil)
			gone := filepath.Join(dir, "parley-data", test.gone)
			if err := os.Rename(gone, filepath.Join(dir, "away")); err != nil {
				t.Fatal(err)
			}
			for what, do := range operations {
				if status := do(); status != http.StatusServiceUnavailable {
					t.Errorf("%s: %d", what, status)
				}
			}
			if status, answer := c.Call("", "GET", "/readyz", ""); status != http.StatusServiceUnavailable || !strings.Contains(answer, "the "+test.store+" cannot") {
				t.Errorf("ready: %d %s", status, answer)
			}
			if err := os.Rename(filepath.Join(dir, "away"), gone); err != nil {
				t.Fatal(err)
			}
			for what, do := range operations {
				if status := do(); status != http.StatusOK {
					t.Errorf("%s, when it is back: %d", what, status)
				}
			}
			if status, answer := c.Call("", "GET", "/readyz", ""); status != http.StatusOK {
				t.Errorf("ready, when it is back: %d %s", status, answer)
			}
		})
	}
}
