package s3test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestBucketIsServed(t *testing.T) {
	t.Parallel()
	endpoint, accessKey, secretKey := Server(t)
	first, second := Bucket(t), Bucket(t)
	if first == second || accessKey == "" || secretKey == "" {
		t.Errorf("got buckets %s and %s, keys %q and %q", first, second, accessKey, secretKey)
	}
	for bucket, want := range map[string]int{first: http.StatusForbidden, "no-such-bucket": http.StatusNotFound} {
		if got := status(t, endpoint+"/"+bucket); got != want {
			t.Errorf("asking for bucket %s without a key was answered %d, want %d", bucket, got, want)
		}
	}
}

func TestBucketIsRemoved(t *testing.T) {
	t.Parallel()
	var bucket string
	t.Run("inner", func(t *testing.T) {
		bucket = Bucket(t)
		if err := os.WriteFile(filepath.Join(get(t).buckets, bucket, "object"), nil, 0o600); err != nil {
			t.Fatalf("put something in the bucket: %v", err)
		}
	})
	if bucket == "" {
		t.Skip("no S3 server")
	}
	endpoint, _, _ := Server(t)
	if got := status(t, endpoint+"/"+bucket); got != http.StatusNotFound {
		t.Errorf("the bucket is still there after its test: answered %d", got)
	}
}

func TestFailedStartShowsTheLog(t *testing.T) {
	t.Parallel()
	for _, said := range []string{"no luck today", "bind: address already in use"} {
		binary := standIn(t, "echo "+said+" >&2; exit 1")
		srv, err := start(binary)
		if err == nil {
			t.Fatalf("a server started at %s", srv.endpoint)
		}
		if !strings.Contains(err.Error(), said) {
			t.Errorf("the error does not show what the program said: %v", err)
		}
	}
}

func standIn(t *testing.T, script string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "versitygw")
	if err := os.WriteFile(binary, []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
		t.Fatalf("write a stand-in: %v", err)
	}
	return binary
}

func status(t *testing.T, url string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatalf("make a request: %v", err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return resp.StatusCode
}
