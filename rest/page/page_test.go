package page_test

import (
	"compress/gzip"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"parley/rest/page"
)

func get(t *testing.T, p *page.Page, path string, header ...string) *http.Response {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	p.ServeHTTP(answer, request)
	return answer.Result()
}

func text(t *testing.T, r io.Reader) string {
	t.Helper()
	content, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func open(t *testing.T, cfg page.Config) *page.Page {
	t.Helper()
	p, err := page.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestHeaders(t *testing.T) {
	t.Parallel()
	p := open(t, page.Config{})
	const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	for _, path := range p.Paths() {
		answer := get(t, p, path)
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", path, name, got)
			}
		}
		cached := answer.Header.Get("Cache-Control")
		if hashed := regexp.MustCompile(`^/assets/.+-[\w-]{8}\.\w+$`).MatchString(path); hashed != strings.Contains(cached, "immutable") || !hashed && path != "/" {
			t.Errorf("%s is kept by %q", path, cached)
		}
		again := get(t, p, path, "If-None-Match", answer.Header.Get("ETag"))
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %d", path, again.StatusCode)
		}
	}
	if got := get(t, p, "/").Header.Get("Cache-Control"); got != "no-cache" {
		t.Errorf("/ is kept by %q", got)
	}
	if got := get(t, p, "/assets/none.js").StatusCode; got != http.StatusNotFound {
		t.Errorf("a file that there is not: %d", got)
	}
}

func TestPacked(t *testing.T) {
	t.Parallel()
	p := open(t, page.Config{})
	plain, packed := get(t, p, "/"), get(t, p, "/", "Accept-Encoding", "br, gzip")
	if packed.Header.Get("Content-Encoding") != "gzip" || packed.Header.Get("ETag") == plain.Header.Get("ETag") {
		t.Errorf("packed: %v", packed.Header)
	}
	unpacked, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := text(t, unpacked), text(t, plain.Body); got != want {
		t.Errorf("packed it is\n%s", got)
	}
}

func TestSettingsAreData(t *testing.T) {
	t.Parallel()
	index := text(t, get(t, open(t, page.Config{AuthURL: `https://idp.example/?a=1&b="><script>alert(1)</script>`, ClientID: "parley"}), "/").Body)
	if strings.Contains(index, "<script>") || !strings.Contains(index, "clientID&#34;:&#34;parley&#34;") {
		t.Errorf("the page is\n%s", index)
	}
	if strings.Count(index, "<script") != 1 || strings.Contains(index, " style=") || strings.Contains(index, "<style") || strings.Count(index, "//") != 1 {
		t.Errorf("the page has something of its own, or of another host, in it\n%s", index)
	}
}

// TestUploadOrigin asks where uploads go for the page alone, and until it is told.
func TestUploadOrigin(t *testing.T) {
	t.Parallel()
	asked, failure := 0, errors.New("away")
	p := open(t, page.Config{UploadOrigin: func(ctx context.Context) (string, error) {
		if _, limited := ctx.Deadline(); !limited {
			t.Error("the page may wait for ever")
		}
		asked++
		return "https://bucket.example", failure
	}})
	sees := func(path, connect string, times int) {
		t.Helper()
		if got := get(t, p, path).Header.Get("Content-Security-Policy"); !strings.Contains(got, "connect-src "+connect+";") || asked != times {
			t.Errorf("%s: the policy is %q, asked for %d times", path, got, asked)
		}
	}
	for _, path := range p.Paths() {
		if path != "/" {
			sees(path, "'self'", 0)
		}
	}
	sees("/", "'self'", 1)
	failure = nil
	sees("/", "'self' https://bucket.example", 2)
	failure = errors.New("away")
	sees("/", "'self' https://bucket.example", 2)
}

// TestWeight limits what a browser loads before the page can be used.
func TestWeight(t *testing.T) {
	t.Parallel()
	const most = 120 << 10
	p := open(t, page.Config{})
	total := 0
	index := text(t, get(t, p, "/").Body)
	for _, path := range p.Paths() {
		if path != "/" && !strings.Contains(index, "."+path) {
			continue // loaded when it is needed
		}
		total += len(text(t, get(t, p, path, "Accept-Encoding", "gzip").Body))
	}
	if total > most || total < 10<<10 {
		t.Errorf("the first load is %d bytes, at most %d are right", total, most)
	}
	t.Logf("the first load is %d bytes", total)
}
