package objects_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/objects"
)

func TestFolderRefusesTamperedAddresses(t *testing.T) {
	t.Parallel()
	folder, _ := newFolder(t, objects.FolderConfig{})
	upload, other := begin(t, folder, "mine/a b"), begin(t, folder, "mine/a b")
	address := partURL(t, folder, upload, 2, 4)
	change := func(name, value string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatalf("parse the address: %v", err)
		}
		query := u.Query()
		if query.Get(name) == "" {
			t.Fatalf("the address has no %s", name)
		}
		query.Set(name, value)
		u.RawQuery = query.Encode()
		return u.String()
	}
	signature := address[strings.Index(address, "signature=")+len("signature="):]
	signature, _, _ = strings.Cut(signature, "&")
	for name, changed := range map[string]string{
		"another key":         change("key", "mine/b"),
		"a key that escapes":  change("key", "../../etc/passwd"),
		"another upload":      change("uploadId", other.ID),
		"another part":        change("partNumber", "1"),
		"the part, otherwise": change("partNumber", "02"),
		"the part, signed":    change("partNumber", "+2"),
		"another size":        change("size", "5"),
		"a later end":         change("expires", fmt.Sprint(time.Now().Add(time.Hour).Unix())),
		"another signature":   change("signature", strings.Repeat("A", len(signature))),
		"a shorter signature": change("signature", signature[:len(signature)-1]),
		"unused bits":         change("signature", signature[:len(signature)-1]+"_"),
		"no signature":        change("signature", ""),
		"twice a size":        address + "&size=4",
		"a broken query":      address + "&%zz",
		"a long query":        address + "&x=" + strings.Repeat("x", 5000),
		"nothing":             address[:strings.Index(address, "?")],
	} {
		if changed == address {
			t.Fatalf("%s: nothing was changed", name)
		}
		if got := send(t, http.MethodPut, changed, []byte("part")); got.status != http.StatusForbidden {
			t.Errorf("%s: answered %+v", name, got)
		}
	}
	for _, method := range []string{"GET", "HEAD", "POST", "DELETE", "put"} {
		if got := send(t, method, address, []byte("part")); got.status != http.StatusForbidden {
			t.Errorf("%s: answered %+v", method, got)
		}
	}
	if got := send(t, http.MethodPut, address, []byte("part")); got.status != http.StatusOK {
		t.Errorf("as it was given: answered %+v", got)
	}
}

func TestFolderAddressExpiresOnTime(t *testing.T) {
	t.Parallel()
	var now atomic.Int64
	start := time.Date(2030, 1, 1, 0, 0, 0, 1, time.UTC)
	now.Store(start.UnixNano())
	folder, _ := newFolder(t, objects.FolderConfig{Now: func() time.Time { return time.Unix(0, now.Load()) }})
	upload := begin(t, folder, "key")
	address, err := folder.PartURL(t.Context(), "alice", upload, 1, 4, 15*time.Minute)
	if err != nil {
		t.Fatalf("address: %v", err)
	}
	for _, tt := range []struct {
		after time.Duration
		want  int
	}{{0, 200}, {15 * time.Minute, 200}, {15*time.Minute + time.Second, 403}, {100 * time.Hour, 403}, {time.Minute, 200}} {
		now.Store(start.Add(tt.after).UnixNano())
		if got := send(t, http.MethodPut, address, []byte("part")); got.status != tt.want {
			t.Errorf("after %v: answered %+v, want %d", tt.after, got, tt.want)
		}
	}
}

func TestFolderPartsOfUnknownLength(t *testing.T) {
	t.Parallel()
	folder, _ := newFolder(t, objects.FolderConfig{})
	upload := begin(t, folder, "chunked")
	const size = 200_000
	for length, want := range map[int]int{0: 422, size - 1: 422, size: 200, size + 1: 422, 3 * size: 422} {
		body := io.MultiReader(bytes.NewReader(random(length))) // hides the length
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, partURL(t, folder, upload, 1, size), body)
		if err != nil {
			t.Fatalf("make a request: %v", err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatalf("send: %v", err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes for %d were answered %s, want %d", length, size, resp.Status, want)
		}
	}
}

// On S3 it is the server's affair, and versitygw with a folder for its notes does
// not keep a part and its ETag together.
func TestFolderSamePartConcurrently(t *testing.T) {
	t.Parallel()
	folder, _ := newFolder(t, objects.FolderConfig{})
	upload := begin(t, folder, "rush")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			body := bytes.Repeat([]byte{byte('a' + i)}, 1000)
			if got := send(t, http.MethodPut, partURL(t, folder, upload, 1, 1000), body); got.status != http.StatusOK {
				t.Errorf("answered %+v", got)
			}
		})
	}
	wg.Wait()
	accepted := 0
	for i := range 8 {
		etag := fmt.Sprintf("%x", md5.Sum(bytes.Repeat([]byte{byte('a' + i)}, 1000)))
		err := folder.Complete(t.Context(), upload, objects.Plan{Size: 1000, PartSize: 1000}, []objects.Part{{Number: 1, ETag: etag}})
		if err == nil {
			accepted++
			if got := read(t, folder, "rush"); !bytes.Equal(got, bytes.Repeat([]byte{byte('a' + i)}, 1000)) {
				t.Error("the object is not the part whose ETag was accepted")
			}
		}
	}
	if accepted != 1 {
		t.Errorf("%d of the parts were accepted, want 1", accepted)
	}
}

func TestFolderAbortUnderIncomingPart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	upload := begin(t, folder, "key")
	body, writer := io.Pipe()
	answered := make(chan answer, 1)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, partURL(t, folder, upload, 1, 200_000), body)
	if err != nil {
		t.Fatalf("make a request: %v", err)
	}
	req.ContentLength = 200_000
	go func() {
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Errorf("send: %v", err)
			answered <- answer{}
			return
		}
		defer resp.Body.Close()
		answered <- answer{status: resp.StatusCode}
	}()
	if _, err := writer.Write(random(100_000)); err != nil {
		t.Fatalf("send the first half: %v", err)
	}
	waittest.Until(t, "the part is coming in", func() bool { return len(below(t, dir, "staging")) == 2 })
	if err := folder.Abort(t.Context(), upload); err != nil {
		t.Fatalf("abort: %v", err)
	}
	if _, err := writer.Write(random(100_000)); err != nil {
		t.Fatalf("send the second half: %v", err)
	}
	if got := <-answered; got.status != http.StatusNotFound {
		t.Errorf("answered %+v", got)
	}
	if left := below(t, dir, "staging"); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// below lists everything below a folder.
func below(t *testing.T, dir, tree string) []string {
	t.Helper()
	var names []string
	root := filepath.Join(dir, tree)
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if err == nil && path != root {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return nil
	})
	if err != nil {
		t.Fatalf("look below %s: %v", root, err)
	}
	return names
}

func TestFolderKeysThatContinueOthers(t *testing.T) {
	t.Parallel()
	folder, _ := newFolder(t, objects.FolderConfig{})
	put(t, folder, "a/b", []byte("x"))
	for _, key := range []string{"a", "a/b/c", "a/b/c/d"} {
		err := folder.PutFile(t.Context(), key, file(t, []byte("y")))
		wantKind(t, err, domain.ErrConflict)
		wantMissing(t, folder, key)
		if err := folder.Delete(t.Context(), key); err != nil {
			t.Errorf("delete %q: %v", key, err)
		}
	}
	if got := read(t, folder, "a/b"); string(got) != "x" {
		t.Errorf("the object is now %q", got)
	}
}

func TestFolderKeepsToItself(t *testing.T) {
	t.Parallel()
	dir, outside := t.TempDir(), t.TempDir()
	folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("secret"), 0o600); err != nil {
		t.Fatalf("write a file: %v", err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "objects", "link")); err != nil {
		t.Fatalf("make a link: %v", err)
	}
	if body, _, err := folder.Open(t.Context(), "link/secret"); err == nil {
		_ = body.Close()
		t.Error("a file outside the folder was opened")
	}
	if err := folder.PutFile(t.Context(), "link/new", file(t, []byte("x"))); err == nil {
		t.Error("a file outside the folder was written")
	}
	wantOnly(t, outside, "secret")
}

func TestFolderDeleteRemovesEmptyFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	path := file(t, []byte("x"))
	var wg sync.WaitGroup
	for i := range 4 { // as fast as they come, so that some make what others remove
		wg.Go(func() {
			for range 50 {
				key := fmt.Sprintf("deep/er/%d", i)
				if err := folder.PutFile(t.Context(), key, path); err != nil {
					t.Errorf("put: %v", err)
				}
				if err := folder.Delete(t.Context(), key); err != nil {
					t.Errorf("delete: %v", err)
				}
			}
		})
	}
	wg.Wait()
	if left := append(below(t, dir, "objects"), below(t, dir, "staging")...); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

func TestFolderPath(t *testing.T) {
	t.Parallel()
	folder, _ := newFolder(t, objects.FolderConfig{})
	put(t, folder, "a/b c", []byte("here"))
	path, err := folder.Path(t.Context(), "a/b c")
	if err != nil {
		t.Fatalf("path: %v", err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != "here" {
		t.Errorf("%s holds %q (%v)", path, got, err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode() != 0o444 {
		t.Errorf("%s has mode %v (%v), want one that nobody can write to", path, info.Mode(), err)
	}
	_, err = folder.Path(t.Context(), "a")
	wantKind(t, err, domain.ErrNotFound)
	_, err = folder.Path(t.Context(), "../a")
	wantKind(t, err, domain.ErrInvalid)
}

func TestOpenFolderRefusesNonsense(t *testing.T) {
	t.Parallel()
	whole := objects.FolderConfig{Dir: t.TempDir(), Secret: bytes.Repeat([]byte("s"), 32), BaseURL: nil}
	if _, err := objects.OpenFolder(whole); err == nil {
		t.Error("a folder without a base URL was opened")
	}
	if _, err := objects.OpenFolder(objects.FolderConfig{Dir: t.TempDir(), Secret: []byte("short")}); err == nil {
		t.Error("a folder with a short key was opened")
	}
}

func TestFolderThatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	if err := os.RemoveAll(filepath.Join(dir, "staging")); err != nil {
		t.Fatalf("remove the staging tree: %v", err)
	}
	_, err := folder.Begin(t.Context(), "key")
	wantKind(t, err, domain.ErrUnavailable)
	err = folder.PutFile(t.Context(), "key", file(t, []byte("x")))
	wantKind(t, err, domain.ErrUnavailable)
	wantKind(t, folder.Ping(t.Context()), domain.ErrUnavailable)
	_, err = folder.Sweep(t.Context(), time.Now())
	wantKind(t, err, domain.ErrUnavailable)
}
