package ingest_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

func FuzzWorkbook(f *testing.F) { fuzzParts(f, "x.xlsx") }
func FuzzDocument(f *testing.F) { fuzzParts(f, "x.docx") }
func FuzzArchive(f *testing.F)  { fuzzParts(f, "x.zip") }
func FuzzHTML(f *testing.F)     { fuzzParts(f, "x.html") }
func FuzzPDF(f *testing.F)      { fuzzParts(f, "x.pdf") }
func FuzzSQLite(f *testing.F)   { fuzzParts(f, "x.db") }
func FuzzGeoJSON(f *testing.F)  { fuzzParts(f, "x.geojson") }

// fuzzParts unpacks all parts of a file, which are unpacked or refused.
func fuzzParts(f *testing.F, name string) {
	f.Add([]byte(samples(f)[name]))
	f.Fuzz(func(t *testing.T, content []byte) {
		dir := t.TempDir()
		path := filepath.Join(dir, "source")
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		err := ingest.UnpackAll(context.Background(), ingest.Source{Path: path, Name: name}, dir)
		var refusal *domain.Error
		if err != nil && !errors.As(err, &refusal) {
			t.Fatalf("got %v, which is not for the owner", err)
		}
	})
}
