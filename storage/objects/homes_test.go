package objects_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/s3test"
	"parley/internal/domain"
	"parley/storage/objects"
)

// home is a Store under test.
type home struct {
	objects.Store
	// small is the smallest size that all parts but the last may have.
	small int64
}

// eachHome runs a test over every home.
func eachHome(t *testing.T, test func(t *testing.T, h home)) {
	t.Parallel()
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		folder, _ := newFolder(t, objects.FolderConfig{})
		test(t, home{folder, 1 << 10})
	})
	t.Run("s3", func(t *testing.T) {
		t.Parallel()
		test(t, home{newS3(t), 5 << 20})
	})
}

// newFolder opens a Folder in a new folder, behind a server of its own.
func newFolder(t testing.TB, cfg objects.FolderConfig) (*objects.Folder, *httptest.Server) {
	t.Helper()
	var serve http.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { serve.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	if cfg.Dir == "" {
		cfg.Dir = t.TempDir()
	}
	cfg.Secret = bytes.Repeat([]byte("s"), 32)
	cfg.BaseURL = func(context.Context) string { return server.URL + "/api/v1" }
	folder, err := objects.OpenFolder(cfg)
	if err != nil {
		t.Fatalf("open the folder: %v", err)
	}
	t.Cleanup(func() {
		if err := folder.Close(); err != nil {
			t.Errorf("close the folder: %v", err)
		}
	})
	mux := http.NewServeMux()
	mux.Handle("/api/v1"+objects.PartPath, handler(folder))
	serve = mux
	return folder, server
}

// handler answers as rest does, in short.
func handler(folder *objects.Folder) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := folder.ServePart(w, r); err != nil {
			writeError(w, err)
		}
	})
}

func writeError(w http.ResponseWriter, err error) {
	status := http.StatusInternalServerError
	for kind, code := range map[error]int{
		domain.ErrForbidden: 403, domain.ErrNotFound: 404, domain.ErrInvalid: 422, domain.ErrTooMany: 429, domain.ErrUnavailable: 503,
	} {
		if errors.Is(err, kind) {
			status = code
		}
	}
	http.Error(w, err.Error(), status)
}

func newS3(t testing.TB) *objects.S3 {
	t.Helper()
	endpoint, accessKey, secretKey := s3test.Server(t)
	cfg, problems := objects.ParseURL(fmt.Sprintf("s3://%s/some/where?endpoint=%s&region=%s&path_style=true",
		s3test.Bucket(t), endpoint, s3test.Region))
	if len(problems) > 0 {
		t.Fatalf("parse the bucket's address: %q", problems)
	}
	cfg.AccessKey, cfg.SecretKey = accessKey, secretKey
	s3, err := objects.OpenS3(cfg)
	if err != nil {
		t.Fatalf("open the bucket: %v", err)
	}
	t.Cleanup(func() { _ = s3.Close() })
	return s3
}

func begin(t testing.TB, store objects.Store, key string) objects.Upload {
	t.Helper()
	upload, err := store.Begin(t.Context(), key)
	if err != nil {
		t.Fatalf("begin an upload to %q: %v", key, err)
	}
	return upload
}

func partURL(t testing.TB, store objects.Store, upload objects.Upload, number int, size int64) string {
	t.Helper()
	address, err := store.PartURL(t.Context(), "alice", upload, number, size, time.Minute)
	if err != nil {
		t.Fatalf("address of part %d: %v", number, err)
	}
	return address
}

// answer is what came back for a part.
type answer struct {
	status int
	etag   string
	body   string
}

func send(t testing.TB, method, address string, body []byte) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	if err != nil {
		t.Fatalf("make a request: %v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return answer{resp.StatusCode, resp.Header.Get("ETag"), string(text)}
}

// sendPart sends a part as a client should.
func sendPart(t testing.TB, store objects.Store, upload objects.Upload, number int, body []byte) objects.Part {
	t.Helper()
	got := send(t, http.MethodPut, partURL(t, store, upload, number, int64(len(body))), body)
	if got.status != http.StatusOK || got.etag == "" {
		t.Fatalf("part %d was answered %+v", number, got)
	}
	return objects.Part{Number: number, ETag: got.etag}
}

// cut returns the parts of a content.
func cut(content []byte, partSize int64) (objects.Plan, [][]byte) {
	plan := objects.Plan{Size: int64(len(content)), PartSize: partSize}
	var bodies [][]byte
	for number := 1; number <= plan.Parts(); number++ {
		size := plan.Part(number)
		bodies = append(bodies, content[:size])
		content = content[size:]
	}
	return plan, bodies
}

// sent is an upload with all its parts sent.
type sent struct {
	upload  objects.Upload
	plan    objects.Plan
	parts   []objects.Part
	content []byte
}

func sendAll(t testing.TB, h home, key string, size int64) sent {
	t.Helper()
	s := sent{upload: begin(t, h, key), content: random(int(size))}
	plan, bodies := cut(s.content, h.small)
	s.plan = plan
	for i, body := range bodies {
		s.parts = append(s.parts, sendPart(t, h, s.upload, i+1, body))
	}
	return s
}

func random(size int) []byte {
	source := rand.NewChaCha8([32]byte{byte(size), byte(rand.Uint32())})
	content := make([]byte, size)
	_, _ = source.Read(content)
	return content
}

func read(t testing.TB, store objects.Store, key string) []byte {
	t.Helper()
	body, size, err := store.Open(t.Context(), key)
	if err != nil {
		t.Fatalf("open %q: %v", key, err)
	}
	defer body.Close()
	content, err := io.ReadAll(body)
	if err != nil {
		t.Fatalf("read %q: %v", key, err)
	}
	if size != int64(len(content)) {
		t.Errorf("opening %q gave the size %d for %d bytes", key, size, len(content))
	}
	return content
}

func put(t testing.TB, store objects.Store, key string, content []byte) {
	t.Helper()
	if err := store.PutFile(t.Context(), key, file(t, content)); err != nil {
		t.Fatalf("put %q: %v", key, err)
	}
}

func file(t testing.TB, content []byte) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatalf("write a file: %v", err)
	}
	return name
}

func wantKind(t testing.TB, err, kind error) {
	t.Helper()
	if !errors.Is(err, kind) {
		t.Errorf("got error %v, want %v", err, kind)
	}
}

func wantMissing(t testing.TB, store objects.Store, key string) {
	t.Helper()
	body, _, err := store.Open(t.Context(), key)
	if err == nil {
		_ = body.Close()
	}
	wantKind(t, err, domain.ErrNotFound)
}
