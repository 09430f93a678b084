package objects_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/s3test"
	"parley/internal/domain"
	"parley/storage/objects"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]objects.S3Config{
		"s3://bucket":           {Bucket: "bucket"},
		"s3://my.bucket-1/":     {Bucket: "my.bucket-1"},
		"s3://bucket/a/b%20c/":  {Bucket: "bucket", Prefix: "a/b c"},
		"s3://bucket?region=eu": {Bucket: "bucket", Region: "eu"},
		"s3://bucket/p?endpoint=http://127.0.0.1:9000&region=eu-west-1&path_style=true": {
			Bucket: "bucket", Prefix: "p", Endpoint: "http://127.0.0.1:9000", Region: "eu-west-1", PathStyle: true},
		"s3://bucket?endpoint=minio:9000&public_endpoint=https%3A%2F%2Ffiles.example.com%2F&path_style=false": {
			Bucket: "bucket", Endpoint: "https://minio:9000", PublicEndpoint: "https://files.example.com"},
	} {
		got, problems := objects.ParseURL(raw)
		if got != want || len(problems) > 0 {
			t.Errorf("%s: got %+v, %q", raw, got, problems)
		}
	}
	for raw, want := range map[string][]string{
		"":                         {"address such as"},
		"https://bucket":           {"address such as"},
		"s3://b\x7f":               {"address such as"},
		"s3://":                    {"bucket"},
		"s3://UPPER":               {"bucket"},
		"s3://ab":                  {"bucket"},
		"s3://key:hidden@bucket":   {"must not hold keys"},
		"s3://bucket/a/../b":       {"prefix"},
		"s3://bucket/a//b":         {"prefix"},
		"s3://bucket/#hidden":      {"#"},
		"s3://bucket?a=%zz":        {"cannot be read"},
		"s3://bucket?endpoint=":    {"endpoint"},
		"s3://bucket?path_style=x": {"path_style"},
		"s3://bucket?region=":      {"region"},
		"s3://bucket/" + strings.Repeat("p", 250) + "/" + strings.Repeat("p", 10): {"more than 255 bytes"},
		"s3://u:hidden@X/../p?endpoint=ftp://x&public_endpoint=http://hidden@x&region=a+b&region=c&path_style=maybe&secret=hidden": {
			"keys", "bucket", "prefix", "endpoint", "path_style", "public_endpoint", "more than once", `"secret"`},
	} {
		_, problems := objects.ParseURL(raw)
		if len(problems) != len(want) {
			t.Errorf("%s: got %q, want %d problems", raw, problems, len(want))
			continue
		}
		for i, problem := range problems {
			if !strings.Contains(problem, want[i]) || strings.Contains(problem, "hidden") {
				t.Errorf("%s: problem %q, want it to speak of %q", raw, problem, want[i])
			}
		}
	}
}

func TestOpenS3NeedsKeys(t *testing.T) {
	t.Parallel()
	for _, cfg := range []objects.S3Config{{Bucket: "bucket"}, {Bucket: "bucket", AccessKey: "x"}, {Bucket: "bucket", SecretKey: "x"}} {
		if _, err := objects.OpenS3(cfg); err == nil || !strings.Contains(err.Error(), "AWS_SECRET_ACCESS_KEY") {
			t.Errorf("%+v: got %v", cfg, err)
		}
	}
}

func TestS3PublicEndpoint(t *testing.T) {
	t.Parallel()
	s3 := openS3(t, objects.S3Config{Bucket: "bucket", Endpoint: "http://10.0.0.1:9000", PublicEndpoint: "https://files.example.com", PathStyle: true})
	address := partURL(t, s3, objects.Upload{Key: "a b", ID: "id"}, 3, 100)
	if !strings.HasPrefix(address, "https://files.example.com/bucket/a%20b?") || !strings.Contains(address, "partNumber=3") {
		t.Errorf("got %s", address)
	}
}

func openS3(t *testing.T, cfg objects.S3Config) *objects.S3 {
	t.Helper()
	if cfg.AccessKey == "" {
		cfg.AccessKey, cfg.SecretKey = "key", "secret"
	}
	s3, err := objects.OpenS3(cfg)
	if err != nil {
		t.Fatalf("open the bucket: %v", err)
	}
	t.Cleanup(func() { _ = s3.Close() })
	return s3
}

func TestS3SmallParts(t *testing.T) {
	t.Parallel()
	s3 := newS3(t)
	s := sendAll(t, home{s3, 1000}, "small", 2500)
	err := s3.Complete(t.Context(), s.upload, s.plan, s.parts)
	wantKind(t, err, domain.ErrInvalid)
	wantMissing(t, s3, "small")
	// One part may be as small as it likes.
	part := sendPart(t, s3, s.upload, 1, []byte("x"))
	if err := s3.Complete(t.Context(), s.upload, objects.Plan{Size: 1, PartSize: 1000}, []objects.Part{part}); err != nil {
		t.Errorf("complete with one part: %v", err)
	}
}

func TestS3ManyParts(t *testing.T) {
	t.Parallel()
	s3 := newS3(t)
	upload := begin(t, s3, "many")
	const count = 1005 // more than a page of the server's list
	parts := make([]objects.Part, count)
	for i := range parts {
		parts[i] = sendPart(t, s3, upload, i+1, []byte("x"))
	}
	plan := objects.Plan{Size: count + 1, PartSize: 1}
	err := s3.Complete(t.Context(), upload, plan, append(parts, objects.Part{Number: count + 1, ETag: "x"}))
	if got, want := fields(err), fmt.Sprintf("part %d", count+1); got != want {
		t.Errorf("named %q, want %q (%v)", got, want, err)
	}
	if n, err := s3.Sweep(t.Context(), time.Now().Add(time.Hour)); n != 1 || err != nil {
		t.Errorf("swept %d (%v), want 1", n, err)
	}
}

func TestS3Unavailable(t *testing.T) {
	t.Parallel()
	endpoint, accessKey, secretKey := s3test.Server(t)
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("find a free port: %v", err)
	}
	if err := nobody.Close(); err != nil {
		t.Fatalf("free the port: %v", err)
	}
	busy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "go away", http.StatusServiceUnavailable)
	}))
	t.Cleanup(busy.Close)
	bucket := s3test.Bucket(t)
	for name, cfg := range map[string]objects.S3Config{
		"nobody there": {Bucket: bucket, Endpoint: "http://" + nobody.Addr().String(), AccessKey: accessKey, SecretKey: secretKey},
		"too busy":     {Bucket: bucket, Endpoint: busy.URL, AccessKey: accessKey, SecretKey: secretKey},
		"wrong secret": {Bucket: bucket, Endpoint: endpoint, AccessKey: accessKey, SecretKey: "wrong"},
		"no bucket":    {Bucket: "no-such-bucket", Endpoint: endpoint, AccessKey: accessKey, SecretKey: secretKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s3 := openS3(t, cfg)
			_, err := s3.Begin(t.Context(), "key")
			wantKind(t, err, domain.ErrUnavailable)
			err = s3.Complete(t.Context(), objects.Upload{Key: "key", ID: "x"}, objects.Plan{Size: 1, PartSize: 1}, nil)
			wantKind(t, err, domain.ErrUnavailable)
			err = s3.PutFile(t.Context(), "key", file(t, []byte("x")))
			wantKind(t, err, domain.ErrUnavailable)
			_, _, err = s3.Open(t.Context(), "key")
			wantKind(t, err, domain.ErrUnavailable)
			_, _, err = s3.ReadStart(t.Context(), "key", 4)
			wantKind(t, err, domain.ErrUnavailable)
			wantKind(t, s3.Delete(t.Context(), "key"), domain.ErrUnavailable)
			wantKind(t, s3.Ping(t.Context()), domain.ErrUnavailable)
			_, err = s3.Sweep(t.Context(), time.Now())
			wantKind(t, err, domain.ErrUnavailable)
			if err != nil && strings.Contains(err.Error(), secretKey) {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
}

// TestS3SilentServer has a server that takes connections and says nothing.
func TestS3SilentServer(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("listen: %v", err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	s3 := openS3(t, objects.S3Config{Bucket: "bucket", Endpoint: "http://" + listener.Addr().String()})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	wantKind(t, s3.Ping(ctx), context.DeadlineExceeded)
}

// TestS3BrokenTransfer has a server whose connections end in the middle of objects.
func TestS3BrokenTransfer(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "1000")
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		_, _ = w.Write(make([]byte, 500))
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	s3 := openS3(t, objects.S3Config{Bucket: "bucket", Endpoint: server.URL})
	to := filepath.Join(t.TempDir(), "file")
	write(t, to, "before")
	wantKind(t, objects.Fetch(t.Context(), s3, "key", to), domain.ErrUnavailable)
	if got, err := os.ReadFile(to); err != nil || string(got) != "before" {
		t.Errorf("the file is now %q (%v)", got, err)
	}
	wantOnly(t, filepath.Dir(to), "file")
}

// A check of files asks the bucket for their first bytes only.
func TestCheckTransfersLittle(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	var files []domain.DataFile
	for i := range 3 {
		files = append(files, c.put(fmt.Sprint(i), "PAR1"+strings.Repeat("x", 1<<20)))
	}
	before := c.sent.Load()
	if err := objects.Check(t.Context(), c.bucket, files); err != nil {
		t.Fatal(err)
	}
	if sent := c.sent.Load() - before; sent != 3*4 {
		t.Errorf("%d bytes were sent", sent)
	}
	files[1].Bytes++
	if err := objects.Check(t.Context(), c.bucket, files); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a file of another size: %v", err)
	}
}
