package objects_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/s3test"
	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/objects"
)

// cacheTest is a bucket behind a proxy that counts, and a folder for caches.
type cacheTest struct {
	t      *testing.T
	bucket *objects.S3
	dir    string
	log    *bytes.Buffer

	mu   sync.Mutex
	gets map[string]int
	// sent counts the bytes of bodies that came from the bucket.
	sent atomic.Int64
	// away makes the bucket refuse requests.
	away atomic.Bool
}

func newCacheTest(t *testing.T) *cacheTest {
	t.Helper()
	c := &cacheTest{t: t, dir: filepath.Join(t.TempDir(), "cache"), log: &bytes.Buffer{}, gets: map[string]int{}}
	endpoint, accessKey, secretKey := s3test.Server(t)
	target, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	// The host that a request is signed for stays.
	forward := &httputil.ReverseProxy{
		Rewrite:        func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = r.In.Host },
		ModifyResponse: func(r *http.Response) error { c.sent.Add(r.ContentLength); return nil },
	}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.away.Load() {
			w.WriteHeader(http.StatusForbidden) // which is not tried again
			return
		}
		if r.Method == http.MethodGet {
			c.mu.Lock()
			c.gets[r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]]++
			c.mu.Unlock()
		}
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(proxy.Close)
	c.bucket = openS3(t, objects.S3Config{
		Bucket: s3test.Bucket(t), Endpoint: proxy.URL, Region: s3test.Region, PathStyle: true, AccessKey: accessKey, SecretKey: secretKey,
	})
	return c
}

// open opens a cache, as a process does that starts.
func (c *cacheTest) open(size int64) *objects.Cache {
	c.t.Helper()
	cache, err := objects.OpenCache(objects.CacheConfig{
		Store: c.bucket, Dir: c.dir, Size: size, Log: slog.New(slog.NewTextHandler(c.log, nil)),
	})
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = cache.Close() })
	return cache
}

// put keeps an object and gives what the records would tell of it.
func (c *cacheTest) put(name, content string) domain.DataFile {
	c.t.Helper()
	key := "datasets/1/" + name
	if err := c.bucket.PutFile(c.t.Context(), key, file(c.t, []byte(content))); err != nil {
		c.t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(content))
	return domain.DataFile{Key: key, Bytes: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
}

// tens keeps n objects of ten bytes.
func (c *cacheTest) tens(n int) []domain.DataFile {
	c.t.Helper()
	files := make([]domain.DataFile, n)
	for i := range files {
		files[i] = c.put(fmt.Sprint("file", i), fmt.Sprintf("%010d", i))
	}
	return files
}

func (c *cacheTest) fetched(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gets[name]
}

// hold holds files that must be had, and checks what they hold.
func (c *cacheTest) hold(cache *objects.Cache, files ...domain.DataFile) (paths []string, release func()) {
	c.t.Helper()
	paths, release, err := cache.Hold(c.t.Context(), files)
	if err != nil {
		c.t.Fatalf("hold: %v", err)
	}
	for i, path := range paths {
		c.holds(path, files[i])
	}
	return paths, release
}

func (c *cacheTest) holds(path string, file domain.DataFile) {
	c.t.Helper()
	content, err := os.ReadFile(path)
	if sum := sha256.Sum256(content); err != nil || hex.EncodeToString(sum[:]) != file.SHA256 {
		c.t.Errorf("%s holds %q, %v", path, content, err)
	}
}

// here returns which of the files are at hand.
func here(cache *objects.Cache, files []domain.DataFile) (all []int) {
	for i, file := range files {
		if _, release, ok := cache.Ready([]domain.DataFile{file}); ok {
			release()
			all = append(all, i)
		}
	}
	return all
}

func TestCacheFetchesOnce(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	files := c.tens(3)
	cache := c.open(100)
	if _, _, ok := cache.Ready(files[:1]); ok {
		t.Error("ready before it was fetched")
	}
	var group sync.WaitGroup
	for range 16 {
		group.Go(func() {
			_, release, err := cache.Hold(t.Context(), files)
			if err != nil {
				t.Error(err)
				return
			}
			release()
			release()
		})
	}
	group.Wait()
	for i := range files {
		if n := c.fetched(fmt.Sprint("file", i)); n != 1 {
			t.Errorf("file %d was fetched %d times", i, n)
		}
	}
	if stats := cache.Stats(); stats != (objects.CacheStats{Bytes: 30, Hits: 45, Misses: 3}) {
		t.Errorf("%+v", stats)
	}
	_, release, ok := cache.Ready(files)
	if !ok {
		t.Fatal("not ready")
	}
	release()
	// A caller that leaves does not stop the fetch for others.
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	late := c.put("late", "late bytes")
	if _, _, err := cache.Hold(gone, []domain.DataFile{late}); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that left: %v", err)
	}
	waittest.Until(t, "the late one is here", func() bool { return len(here(cache, []domain.DataFile{late})) == 1 })
	cache.Forget(late.Key)
	if len(here(cache, []domain.DataFile{late})) != 0 || cache.Stats().Bytes != 30 {
		t.Error("it was not forgotten")
	}
}

func TestCacheBound(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	files := c.tens(6)
	cache := c.open(30)
	_, releaseFirst := c.hold(cache, files[0])
	for i := range 3 {
		_, release := c.hold(cache, files[i])
		release()
	}
	// The first is held, the second was used least recently.
	_, releaseFourth := c.hold(cache, files[3])
	if got := fmt.Sprint(here(cache, files)); got != "[0 2 3]" {
		t.Errorf("after the fourth: %s", got)
	}
	_, releaseThird := c.hold(cache, files[2])
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := cache.Hold(brief, files[4:5]); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("when all are held: %v", err)
	}
	if _, _, err := cache.Hold(t.Context(), files[:4]); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("more than the cache: %v", err)
	}
	// One waits for two places, and a later one does not overtake it.
	type held struct {
		release func()
		err     error
	}
	big, small := make(chan held, 1), make(chan held, 1)
	go func() {
		_, release, err := cache.Hold(t.Context(), files[4:6])
		big <- held{release, err}
	}()
	releaseThird()
	waittest.Until(t, "it waits, and nobody else takes more", func() bool { return len(here(cache, files[2:3])) == 0 })
	go func() {
		_, release, err := cache.Hold(t.Context(), files[1:2])
		small <- held{release, err}
	}()
	select {
	case got := <-small:
		t.Fatalf("overtaken: %+v", got.err)
	case <-time.After(20 * time.Millisecond):
	}
	releaseFirst()
	first := <-big
	if first.err != nil {
		t.Fatal(first.err)
	}
	first.release()
	releaseFourth()
	second := <-small
	if second.err != nil {
		t.Fatal(second.err)
	}
	second.release()
	if stats := cache.Stats(); stats.Bytes > 30 || stats.Evictions < 3 || stats.Failures != 0 {
		t.Errorf("%+v", stats)
	}
}

// TestCacheChanged has somebody change cached files: while they are in use, and
// between two processes, with another size and the same.
func TestCacheChanged(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	files := c.tens(4)
	unknown := c.put("old", "no hash is known")
	unknown.SHA256 = ""
	files = append(files, unknown)
	cache := c.open(1000)
	paths, release, err := cache.Hold(t.Context(), files)
	if err != nil {
		t.Fatal(err)
	}
	tamper := func(path, with string) {
		t.Helper()
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		write(t, path, with)
	}
	tamper(paths[0], "tampered!!")
	if _, _, ok := cache.Ready(files[:1]); ok {
		t.Error("a changed file is ready")
	}
	_, again := c.hold(cache, files[0])
	again()
	release()
	if n := c.fetched("file0"); n != 2 {
		t.Errorf("fetched %d times", n)
	}
	_ = cache.Close()

	tamper(paths[1], "tampered!!")
	tamper(paths[2], "half")
	tamper(paths[4], "by size alone...")
	write(t, filepath.Join(c.dir, ".fetch-left"), "half")
	write(t, filepath.Join(c.dir, "what is this"), "")
	if err := os.MkdirAll(filepath.Join(c.dir, "datasets", "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	cache = c.open(1000)
	if got := here(cache, files); len(got) > 0 {
		t.Errorf("ready before they were checked: %v", got)
	}
	_, release = c.hold(cache, files[:4]...)
	release()
	if paths, release, err := cache.Hold(t.Context(), files[4:]); err != nil || len(paths) != 1 {
		t.Errorf("a file without a hash: %v", err)
	} else {
		release()
	}
	for name, want := range map[string]int{"file0": 2, "file1": 2, "file2": 2, "file3": 1, "old": 1} {
		if got := c.fetched(name); got != want {
			t.Errorf("%s was fetched %d times, want %d", name, got, want)
		}
	}
	if stats := cache.Stats(); stats.Failures != 2 || stats.Bytes != 40+unknown.Bytes {
		t.Errorf("%+v", stats)
	}
	left, err := os.ReadDir(c.dir)
	if err != nil || len(left) != 5 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// An object that is not what was kept is asked for twice, and its key is for the
// log alone.
func TestCacheWrongObject(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	cache := c.open(1000)
	right := c.put("a", "right one")
	missing := domain.DataFile{Key: "datasets/1/none", Bytes: 3}
	c.put("a", "wrong one")
	var words *domain.Error
	for i, file := range []domain.DataFile{right, missing, {Key: right.Key, Bytes: 5}, {Key: right.Key, Bytes: 50}} {
		_, _, err := cache.Hold(t.Context(), []domain.DataFile{file})
		if !errors.Is(err, domain.ErrUnavailable) || !errors.As(err, &words) || strings.Contains(err.Error(), "datasets/") {
			t.Errorf("%d: %v", i, err)
		}
	}
	if n := c.fetched("a"); n != 6 {
		t.Errorf("fetched %d times", n)
	}
	if !strings.Contains(c.log.String(), right.Key) || cache.Stats() != (objects.CacheStats{Misses: 4, Failures: 7}) {
		t.Errorf("%+v, and the log says: %s", cache.Stats(), c.log)
	}
	c.put("a", "right one")
	_, release := c.hold(cache, right)
	release()
	left, err := os.ReadDir(c.dir)
	if err != nil || len(left) != 1 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}

// An object that was wrong when it was fetched is fetched again for each check, until it is
// right.
func TestCacheChecksDamaged(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	cache := c.open(1000)
	files := []domain.DataFile{c.put("a", "PAR1 right")}
	c.put("a", "PAR1 wrong")
	if _, _, err := cache.Hold(t.Context(), files); err == nil {
		t.Fatal("a wrong object was fetched")
	}
	if err := cache.Check(t.Context(), files); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("damaged: %v", err)
	}
	c.put("a", "PAR1 right")
	for range 2 {
		if err := cache.Check(t.Context(), files); err != nil {
			t.Errorf("right again: %v", err)
		}
	}
}

// A bucket that is away when a damaged object is fetched again says nothing of the object. The keys
// of damaged objects are listed, so that those of deleted datasets are forgotten.
func TestCacheCheckUnavailable(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	cache := c.open(1000)
	files := []domain.DataFile{c.put("a", "PAR1 right")}
	c.put("a", "PAR1 wrong")
	if _, _, err := cache.Hold(t.Context(), files); err == nil {
		t.Fatal("a wrong object was fetched")
	}
	if keys := cache.Keys(); !slices.Equal(keys, []string{files[0].Key}) {
		t.Errorf("keys: %v", keys)
	}
	c.put("a", "PAR1 right")
	c.away.Store(true)
	if err := cache.Check(t.Context(), files); !errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrNotFound) {
		t.Errorf("the bucket is away: %v", err)
	}
}

// A cached file that could not be read is compared again, and fetched if it is wrong.
func TestCacheVerify(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	cache := c.open(1000)
	file := c.put("a", "PAR1 right")
	paths, release := c.hold(cache, file)
	release()
	info, err := os.Stat(paths[0])
	if err == nil {
		err = errors.Join(os.Remove(paths[0]), os.WriteFile(paths[0], []byte("PAR1 wrong"), 0o600), os.Chtimes(paths[0], info.ModTime(), info.ModTime()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := cache.Verify(t.Context(), []domain.DataFile{file}); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := cache.Ready([]domain.DataFile{file}); ok {
		t.Error("a file that could not be read is ready")
	}
	_, release = c.hold(cache, file)
	release()
	if n := c.fetched("a"); n != 2 {
		t.Errorf("fetched %d times", n)
	}
	// Compare finds it each time.
	if err := cache.Compare(t.Context(), []domain.DataFile{file}); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(paths[0]), os.WriteFile(paths[0], []byte("PAR1 wrong"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := cache.Compare(t.Context(), []domain.DataFile{file}); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("Compare: %v", err)
	}
	_, release = c.hold(cache, file)
	release()
	if n := c.fetched("a"); n != 3 {
		t.Errorf("fetched %d times", n)
	}
}

func TestCacheLargerThanItMayBe(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	files := c.tens(5)
	cache := c.open(50)
	for _, i := range []int{4, 0, 3, 1, 2} {
		paths, release := c.hold(cache, files[i])
		release()
		used := time.Now().Add(time.Duration(i-10) * time.Minute)
		if err := os.Chtimes(paths[0], used, used); err != nil {
			t.Fatal(err)
		}
	}
	_ = cache.Close()
	cache = c.open(25)
	if stats := cache.Stats(); stats != (objects.CacheStats{Bytes: 20, Evictions: 3}) {
		t.Errorf("%+v", stats)
	}
	_, release := c.hold(cache, files[3:]...)
	release()
	for i := range files {
		if n := c.fetched(fmt.Sprint("file", i)); n != 1 {
			t.Errorf("file %d was fetched %d times", i, n)
		}
	}
}

// Many hold and release random files, of which more exist than fit.
func TestCacheUnderLoad(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	files := c.tens(12)
	cache := c.open(50)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 25 {
				some := []domain.DataFile{files[rand.IntN(12)], files[rand.IntN(12)], files[rand.IntN(12)]}
				paths, release, err := cache.Hold(t.Context(), some)
				if err != nil {
					t.Error(err)
					return
				}
				for i, path := range paths {
					c.holds(path, some[i])
				}
				if size := cache.Stats().Bytes; size > 50 {
					t.Errorf("the cache has %d bytes", size)
				}
				release()
			}
		})
	}
	group.Wait()
	var onDisk int64
	left, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range left {
		if info, err := entry.Info(); err == nil {
			onDisk += info.Size()
		}
	}
	if stats := cache.Stats(); stats.Bytes != onDisk || onDisk > 50 || stats.Evictions == 0 || stats.Failures != 0 {
		t.Errorf("%+v, and %d bytes are on disk", stats, onDisk)
	}
}

func TestCacheClosed(t *testing.T) {
	t.Parallel()
	c := newCacheTest(t)
	files := c.tens(1)
	cache := c.open(50)
	_ = cache.Close()
	if _, _, err := cache.Hold(t.Context(), files); !errors.Is(err, domain.ErrUnavailable) {
		t.Error(err)
	}
}
