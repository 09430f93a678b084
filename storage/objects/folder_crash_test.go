package objects_test

import (
	"bufio"
	"bytes"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"parley/cmd/parley/e2e/helpers/waittest"
	"parley/internal/domain"
	"parley/storage/objects"
)

// TestFolderClientsThatGiveUp has clients stop in the middle of a part: one that
// falls silent, one that trickles, and one that disconnects.
func TestFolderClientsThatGiveUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		stall time.Duration
		then  func(t *testing.T, conn net.Conn)
		want  int
	}{
		"silent":   {50 * time.Millisecond, func(*testing.T, net.Conn) {}, http.StatusUnprocessableEntity},
		"trickles": {300 * time.Millisecond, trickle, http.StatusUnprocessableEntity},
		"gone":     {time.Minute, func(t *testing.T, conn net.Conn) { hangUp(t, conn) }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			folder, server := newFolder(t, objects.FolderConfig{Dir: dir, Stall: tt.stall})
			upload := begin(t, folder, "key")
			address, err := url.Parse(partURL(t, folder, upload, 1, 1<<20))
			if err != nil {
				t.Fatalf("parse the address: %v", err)
			}
			conn, err := net.Dial("tcp", server.Listener.Addr().String())
			if err != nil {
				t.Fatalf("connect: %v", err)
			}
			defer conn.Close()
			fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", address.RequestURI(), 1<<20, random(100_000))
			tt.then(t, conn)
			if tt.want != 0 {
				resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					t.Fatalf("read the answer: %v", err)
				}
				_ = resp.Body.Close()
				if resp.StatusCode != tt.want {
					t.Errorf("answered %s, want %d", resp.Status, tt.want)
				}
			}
			waittest.Until(t, "only the upload's folder is left", func() bool { return len(below(t, dir, "staging")) == 1 })
			err = folder.Complete(t.Context(), upload, objects.Plan{Size: 1 << 20, PartSize: 1 << 20}, []objects.Part{{Number: 1, ETag: "x"}})
			wantKind(t, err, domain.ErrInvalid)
		})
	}
}

// trickle sends single bytes, each well in time, for as long as the server takes
// them.
func trickle(t *testing.T, conn net.Conn) {
	go func() {
		ticks := time.NewTicker(10 * time.Millisecond)
		defer ticks.Stop()
		for range ticks.C {
			if _, err := conn.Write([]byte("x")); err != nil || t.Context().Err() != nil {
				return
			}
		}
	}()
}

func hangUp(t *testing.T, conn net.Conn) {
	if err := conn.Close(); err != nil {
		t.Errorf("hang up: %v", err)
	}
}

// TestFolderAfterCrash puts the folder in the states in which a process that dies
// can leave it.
func TestFolderAfterCrash(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	h := home{folder, 1 << 10}

	// With the end noted, and the object not yet in its place.
	s := sendAll(t, h, "noted", 3000)
	write(t, filepath.Join(stageOf(t, dir), "done"), "whatever")
	err := folder.Complete(t.Context(), s.upload, s.plan, s.parts[1:])
	if got := fields(err); got != "part 1" {
		t.Errorf("completing with a part missing named %q (%v)", got, err)
	}
	if err := folder.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
		t.Fatalf("complete after a crash: %v", err)
	}
	if !bytes.Equal(read(t, folder, "noted"), s.content) {
		t.Error("the object has other bytes than were sent")
	}

	// With the object in its place, and the parts not yet removed.
	stage := stageOf(t, dir)
	write(t, filepath.Join(stage, "00001"), "the part")
	write(t, filepath.Join(stage, "in-X"), "another")
	if err := folder.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
		t.Fatalf("complete again: %v", err)
	}
	wantOnly(t, stage, "done")

	// With files of all kinds half written, some of them in an upload that goes on.
	upload := begin(t, folder, "goes on")
	if err := os.RemoveAll(stage); err != nil {
		t.Fatalf("remove the first upload: %v", err)
	}
	stage = stageOf(t, dir)
	part := sendPart(t, folder, upload, 1, []byte("part"))
	old := time.Now().Add(-48 * time.Hour)
	for _, name := range []string{filepath.Join(stage, "in-A"), filepath.Join(stage, "as-A"), filepath.Join(dir, "staging", "put-A")} {
		write(t, name, "half")
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatalf("make %s old: %v", name, err)
		}
	}
	write(t, filepath.Join(stage, "in-B"), "coming in now")
	if err := os.MkdirAll(filepath.Join(dir, "staging", "gone-A", "x"), 0o700); err != nil {
		t.Fatalf("make a folder: %v", err)
	}
	if n, err := folder.Sweep(t.Context(), time.Now().Add(-24*time.Hour)); n != 3 || err != nil {
		t.Errorf("swept %d (%v), want 3", n, err)
	}
	wantOnly(t, filepath.Join(dir, "staging"), filepath.Base(stage))
	wantOnly(t, stage, "00001", "in-B")
	if err := folder.Complete(t.Context(), upload, objects.Plan{Size: 4, PartSize: 4}, []objects.Part{part}); err != nil {
		t.Errorf("complete after the sweep: %v", err)
	}
}

// stageOf returns the folder of the only upload.
func stageOf(t *testing.T, dir string) string {
	t.Helper()
	uploads, err := filepath.Glob(filepath.Join(dir, "staging", "up-*"))
	if err != nil || len(uploads) == 0 {
		t.Fatalf("there is no upload (%v)", err)
	}
	return uploads[len(uploads)-1]
}

func write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
		t.Fatalf("write %s: %v", name, err)
	}
}

// TestFolderSharedByProcesses stands for two processes with one folder.
func TestFolderSharedByProcesses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	two, _ := newFolder(t, objects.FolderConfig{Dir: dir})
	for round := range 20 {
		s := sendAll(t, home{one, 1 << 10}, fmt.Sprintf("round/%d", round), 5000)
		var wg sync.WaitGroup
		for _, folder := range []*objects.Folder{one, two, one, two} {
			wg.Go(func() {
				if err := folder.Complete(t.Context(), s.upload, s.plan, s.parts); err != nil {
					t.Errorf("complete: %v", err)
				}
			})
		}
		wg.Wait()
		if !bytes.Equal(read(t, two, s.upload.Key), s.content) {
			t.Error("the object has other bytes than were sent")
		}
	}
}
