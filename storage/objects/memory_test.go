package objects_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"parley/storage/objects"
)

// zeros is as many bytes as are asked for.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func sendZeros(t testing.TB, address string, size int64) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, address, io.LimitReader(zeros{}, size))
	if err != nil {
		t.Fatalf("make a request: %v", err)
	}
	req.ContentLength = size
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("send: %v", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("answered %s", resp.Status)
	}
	return resp.Header.Get("ETag")
}

// TestUploadsStayOutOfMemory uploads 256 MiB and counts everything that is allocated
// on the way, garbage too, by client and server. It is not parallel: others would be
// counted.
func TestUploadsStayOutOfMemory(t *testing.T) {
	folder, _ := newFolder(t, objects.FolderConfig{})
	plan := objects.Plan{Size: 256 << 20, PartSize: 8 << 20}
	upload := begin(t, folder, "big")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var parts []objects.Part
	for number := 1; number <= plan.Parts(); number++ {
		etag := sendZeros(t, partURL(t, folder, upload, number, plan.Part(number)), plan.Part(number))
		parts = append(parts, objects.Part{Number: number, ETag: etag})
	}
	if err := folder.Complete(t.Context(), upload, plan, parts); err != nil {
		t.Fatalf("complete: %v", err)
	}
	runtime.ReadMemStats(&after)
	grown := (after.TotalAlloc - before.TotalAlloc) >> 10
	t.Logf("%d KiB were allocated for %d MiB", grown, plan.Size>>20)
	if grown > 16<<10 {
		t.Errorf("%d KiB were allocated, want at most 16 MiB", grown)
	}
}

func BenchmarkFolderPart(b *testing.B) {
	for _, size := range []int64{64 << 10, 8 << 20} {
		b.Run(fmt.Sprintf("%dKiB", size>>10), func(b *testing.B) {
			folder, _ := newFolder(b, objects.FolderConfig{})
			address := partURL(b, folder, begin(b, folder, "bench"), 1, size)
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				sendZeros(b, address, size)
			}
		})
	}
}

func BenchmarkFolderComplete(b *testing.B) {
	folder, _ := newFolder(b, objects.FolderConfig{})
	plan := objects.Plan{Size: 64 << 20, PartSize: 8 << 20}
	b.SetBytes(plan.Size)
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		upload := begin(b, folder, "bench")
		var parts []objects.Part
		for number := 1; number <= plan.Parts(); number++ {
			parts = append(parts, objects.Part{Number: number, ETag: sendZeros(b, partURL(b, folder, upload, number, plan.Part(number)), plan.Part(number))})
		}
		b.StartTimer()
		if err := folder.Complete(b.Context(), upload, plan, parts); err != nil {
			b.Fatalf("complete: %v", err)
		}
	}
}

// TestPutFileStaysOutOfMemory sends 128 MiB to a bucket and counts what is allocated. It
// is not parallel: others would be counted.
func TestPutFileStaysOutOfMemory(t *testing.T) {
	s3 := newS3(t)
	path := filepath.Join(t.TempDir(), "file")
	write(t, path, "")
	if err := os.Truncate(path, 128<<20); err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	if err := s3.PutFile(t.Context(), "big", path); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	grown := (after.TotalAlloc - before.TotalAlloc) >> 10
	t.Logf("%d KiB were allocated for 128 MiB", grown)
	if grown > 32<<10 {
		t.Errorf("%d KiB were allocated, want at most 32 MiB", grown)
	}
}
