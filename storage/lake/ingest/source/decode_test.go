package source

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/storage"
)

func TestDecodedLimit(t *testing.T) {
	t.Parallel()
	for size, want := range map[int64]int64{
		0: minDecoded, 24 << 10: minDecoded, 10 << 20: 2000 << 20, 1 << 30: maxDecoded, 1 << 40: maxDecoded,
	} {
		if got := DecodedLimit(size); got != want {
			t.Errorf("%d bytes may become %d, want %d", size, got, want)
		}
	}
}

// What gzipped sources unpack to is bounded by their size, all together.
func TestUnpackedTogether(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var zipped bytes.Buffer
	zip := gzip.NewWriter(&zipped)
	_, writeErr := zip.Write([]byte("a\n" + strings.Repeat("0\n", 10_000)))
	path := filepath.Join(dir, "x.csv.gz")
	if err := errors.Join(writeErr, zip.Close(), os.WriteFile(path, zipped.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	r := &Reader{Dir: dir, MaxUnpacked: 10 << 30, unpacked: minDecoded - 30_000}
	if _, err := r.decode(t.Context(), path, "x.csv.gz", zipped.Bytes()); err != nil || r.unpacked != minDecoded-30_000+20_002 {
		t.Errorf("the first: %d, %v", r.unpacked, err)
	}
	if _, err := r.decode(t.Context(), path, "x.csv.gz", zipped.Bytes()); !errors.Is(err, storage.ErrInvalid) || !strings.Contains(err.Error(), "more than 9998 bytes") {
		t.Errorf("the second: %v", err)
	}
}
