package engine

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"parley/internal/disk"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// What DuckDB may write to the disk goes by the size of its sources, and by what is
// free.
func TestSpillLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	small, large := filepath.Join(dir, "small"), filepath.Join(dir, "large")
	if err := errors.Join(os.WriteFile(small, []byte("x"), 0o600), os.WriteFile(large, nil, 0o600), os.Truncate(large, 1<<43)); err != nil {
		t.Fatal(err)
	}
	free, err := disk.Free(dir)
	if err != nil {
		t.Fatal(err)
	}
	request := sandbox.IngestRequest{Memory: InitialMemoryLimit, Threads: 1, Jobs: 1, Sources: []ingest.Source{{Path: small}}, OutDir: dir}
	got, _, err := spillLimit(request)
	if err != nil || got > minSpill+spillRatio {
		t.Errorf("for a byte: %d, %v", got, err)
	}
	db, err := openIngest(t.Context(), request, got)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var set string
	if err := db.QueryRow("SELECT current_setting('max_temp_directory_size')").Scan(&set); err != nil || set != "1.0 GiB" && free > 4<<30 {
		t.Errorf("DuckDB has %s, %v", set, err)
	}
	// All jobs together take half of what is free, which changes meanwhile.
	request.Sources[0].Path, request.Jobs = large, 100
	if got, byDisk, err := spillLimit(request); err != nil || got <= 0 || got > free/100 || !byDisk {
		t.Errorf("for more than the disk has, of which %d are free: %d, %v, %v", free, got, byDisk, err)
	}
}
