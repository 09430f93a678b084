package objects

import (
	"bytes"
	"context"
	"crypto/hmac"
	"errors"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"parley/internal/domain"
)

var (
	testSecret = bytes.Repeat([]byte("k"), minSecret)
	testNow    = time.Unix(1_900_000_000, 0)
	testGrant  = grant{
		upload: Upload{Key: "sessions/1/a b/ü.csv", ID: "ABC"}, number: 7, size: 8 << 20, userTag: "AbC-_1",
		expires: testNow.Add(time.Minute).Unix(),
	}
)

func FuzzVerify(f *testing.F) {
	good := testGrant.query(testGrant.sign(testSecret, http.MethodPut))
	f.Add(http.MethodPut, good)
	f.Add(http.MethodGet, good)
	f.Add(http.MethodPut, strings.Replace(good, "partNumber=7", "partNumber=8", 1))
	f.Add(http.MethodPut, good+"&key=x")
	f.Add(http.MethodPut, "key=..%2Fx&uploadId=x&partNumber=1&size=1&expires=9&turn=x&signature=AA")
	f.Add("PUT\nx", "%zz")
	f.Fuzz(func(t *testing.T, method, query string) {
		parsed, signature, ok := parseGrant(query)
		if ok {
			if CheckKey(parsed.upload.Key) != "" || !filepath.IsLocal(parsed.upload.Key) || parsed.upload.ID == "" ||
				parsed.number < 1 || parsed.number > domain.MaxParts || parsed.size < 1 || parsed.expires < 1 {
				t.Errorf("%q was read as %+v", query, parsed)
			}
			again, signatureAgain, ok := parseGrant(parsed.query(signature))
			if !ok || again != parsed || !bytes.Equal(signature, signatureAgain) {
				t.Errorf("%q was read as %+v and, written again, as %+v", query, parsed, again)
			}
		}
		got, err := verify(testSecret, method, query, testNow)
		if err != nil {
			if !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("%q: got %v", query, err)
			}
			return
		}
		if !ok || got != parsed || !hmac.Equal(signature, got.sign(testSecret, method)) || !testNow.Before(time.Unix(got.expires, 0)) {
			t.Errorf("%s %q was accepted as %+v", method, query, got)
		}
		// Nobody but us has the key, so nothing but what we have signed passes.
		if got != testGrant || method != http.MethodPut {
			t.Errorf("%s %q was accepted as %+v", method, query, got)
		}
	})
}

func FuzzCheckKey(f *testing.F) {
	for _, key := range []string{"a/b c/ü", "..", "a/../b", "/a", `a\b`, "a\x00", "…/..a/a.."} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if CheckKey(key) != "" {
			return
		}
		if !filepath.IsLocal(key) || filepath.ToSlash(filepath.Clean(key)) != key {
			t.Errorf("%q is allowed and not a plain path", key)
		}
	})
}

func FuzzParseURL(f *testing.F) {
	f.Add("s3://bucket/prefix?endpoint=http://127.0.0.1:9000&region=eu-west-1&path_style=true")
	f.Add("s3://a:b@bucket/../x?endpoint=ftp://x&x=%zz#y")
	f.Fuzz(func(t *testing.T, raw string) {
		cfg, problems := ParseURL(raw)
		if len(problems) > 0 {
			return
		}
		cfg.AccessKey, cfg.SecretKey = "key", "secret"
		s3, err := OpenS3(cfg)
		if err != nil {
			t.Fatalf("%q is accepted and cannot be opened: %v", raw, err)
		}
		if cfg.Endpoint == "" {
			return // signing would ask Amazon where the bucket is
		}
		address, err := s3.PartURL(t.Context(), "alice", Upload{Key: "k", ID: "u"}, 1, 1, time.Minute)
		if err != nil {
			t.Fatalf("%q is accepted and cannot be used: %v", raw, err)
		}
		if _, err := url.Parse(address); err != nil {
			t.Errorf("%q gives the address %q: %v", raw, address, err)
		}
	})
}

// TestFullDisk writes a part to a device that is always full.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	body := strings.NewReader(strings.Repeat("x", 100))
	_, err = writePart(t.Context(), full, body, grant{upload: Upload{Key: "key"}, number: 1, size: 100})
	if !errors.Is(err, domain.ErrUnavailable) || !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v, want the home unavailable because it is full", err)
	}
	if public, ok := errors.AsType[*domain.Error](err); ok {
		t.Errorf("the caller is shown the cause: %v", public)
	}
}

func TestLocks(t *testing.T) {
	t.Parallel()
	var l locks
	unlock, err := l.lock(t.Context(), "a")
	if err != nil {
		t.Fatalf("lock: %v", err)
	}
	other, err := l.lock(t.Context(), "b")
	if err != nil {
		t.Fatalf("lock another: %v", err)
	}
	other()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.lock(ctx, "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("waiting with a canceled context gave %v", err)
	}
	unlock()
	if len(l.held) != 0 {
		t.Errorf("%d locks are left", len(l.held))
	}
}
