//go:build unix

package server

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// umask is the umask that the program runs with, in octal.
const umask = "RUN_WITH_UMASK"

// Whatever the umask of the server and of who restores, and whatever modes and
// owners an archive names, files have the modes of a data folder: workers, which
// may be another user's, read objects, and nobody else reads anything.
func TestModes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := e2etest.Serve(t, dir, []string{umask + "=077"})
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	text := e2etest.CSV(20)
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
	c.Settled("shop/orders")
	if got := c.Count("shop/orders"); got != 20 {
		t.Fatalf("%d rows", got)
	}
	if made := e2etest.RunCommand(t, dir, nil, "backup", "good.tar"); made.Code != e2etest.ExitOK {
		t.Fatalf("backup: %+v", made)
	}
	writeHostileModes(t, filepath.Join(dir, "good.tar"), filepath.Join(dir, "hostile.tar"))
	for _, mask := range []string{"000", "077"} {
		data := filepath.Join(dir, "restored"+mask)
		if made := e2etest.RunCommand(t, dir, []string{umask + "=" + mask}, "restore", "hostile.tar", "--data", data); made.Code != e2etest.ExitOK {
			t.Fatalf("restore: %+v", made)
		}
		wantModes(t, data)
	}
	restored := e2etest.Serve(t, dir, []string{umask + "=077"}, "--data", filepath.Join(dir, "restored077"))
	if got := (e2etest.Client{Process: restored, Token: c.Token}).Count("shop/orders"); got != 20 {
		t.Errorf("%d rows restored", got)
	}
}

// writeHostileModes copies an archive whose files run as root, and are everybody's
// to change.
func writeHostileModes(t *testing.T, from, to string) {
	t.Helper()
	content, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var hostile bytes.Buffer
	in, out := tar.NewReader(bytes.NewReader(content)), tar.NewWriter(&hostile)
	for {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		header.Mode, header.Uid, header.Gid = 0o7777, 12345, 12345
		if err := out.WriteHeader(header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(out, in); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(out.Close(), os.WriteFile(to, hostile.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func wantModes(t *testing.T, data string) {
	t.Helper()
	objects := 0
	err := filepath.WalkDir(data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		switch {
		case entry.IsDir():
			want = fs.ModeDir | 0o700
		case strings.HasPrefix(path, filepath.Join(data, "objects")):
			want = 0o444
			objects++
		}
		if stat := info.Sys().(*syscall.Stat_t); info.Mode() != want || int(stat.Uid) != os.Geteuid() {
			err = fmt.Errorf("%s is %v, user %d's; want %v", path, info.Mode(), stat.Uid, want)
		}
		return err
	})
	if err != nil || objects == 0 {
		t.Errorf("%d objects, %v", objects, err)
	}
}
