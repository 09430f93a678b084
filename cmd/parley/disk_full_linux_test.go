package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// disk is one that can be full: a small file system or, where none can be mounted,
// any other, of which processes are then told how large a file may be.
type disk struct {
	t       *testing.T
	dir     string
	mounted bool
}

// smallDisk gives a disk of so many bytes.
func smallDisk(t *testing.T, size string) *disk {
	t.Helper()
	return smallDiskAt(t, t.TempDir(), size)
}

func smallDiskAt(t *testing.T, dir, size string) *disk {
	t.Helper()
	d := &disk{t: t, dir: dir}
	if os.Getenv("PARLEY_TEST_NO_MOUNT") != "" {
		return d
	}
	if err := syscall.Mount("tmpfs", d.dir, "tmpfs", 0, "size="+size); err != nil {
		t.Logf("file systems cannot be mounted here, so files are kept from growing: %v", err)
		return d
	}
	d.mounted = true
	t.Cleanup(func() { _ = syscall.Unmount(d.dir, syscall.MNT_DETACH) })
	return d
}

// fill takes what is left of a disk, but for so many bytes, and gives it back. It
// is full for the process that is given, and for commands with that setting.
func (d *disk) fill(p *process, but int64) (setting string, free func()) {
	d.t.Helper()
	if d.mounted {
		return fileLimit + "=", d.takeRoom(but)
	}
	if p == nil {
		return fmt.Sprintf("%s=%d", fileLimit, but), func() {}
	}
	if but > 0 {
		but += d.largest()
	}
	p.limitFiles(uint64(but))
	return "", func() { p.limitFiles(unix.RLIM_INFINITY) }
}

// largest is the size of the largest file of the records.
func (d *disk) largest() (size int64) {
	for _, name := range []string{"parley.db", "parley.db-wal"} {
		if info, err := os.Stat(filepath.Join(d.dir, "data", name)); err == nil {
			size = max(size, info.Size())
		}
	}
	return size
}

// limitFiles keeps a running process, and those that it starts, from writing
// files beyond a size.
func (p *process) limitFiles(size uint64) {
	p.t.Helper()
	limit := &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, nil); err != nil {
		p.t.Fatal(err)
	}
}

func (d *disk) takeRoom(but int64) (free func()) {
	d.t.Helper()
	path := filepath.Join(d.dir, "filler")
	f, err := os.Create(path)
	if err != nil {
		d.t.Fatal(err)
	}
	for piece := 1 << 20; piece > 0; {
		if _, err := f.Write(make([]byte, piece)); errors.Is(err, syscall.ENOSPC) {
			piece /= 2
		} else if err != nil {
			d.t.Fatal(err)
		}
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, f.Truncate(max(size-but, 0)), f.Close()); err != nil {
		d.t.Fatal(err)
	}
	return func() {
		if err := os.Remove(path); err != nil {
			d.t.Fatal(err)
		}
	}
}

// TestDiskFull has the disk of a server full. Whatever needs room then is refused
// and says so, nothing that is there is lost, and all is well when there is room
// again.
func TestDiskFull(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t, "96m")
	data := filepath.Join(disk.dir, "data")
	p := serve(t, t.TempDir(), nil, "--data", data)
	c := client{p, p.token("alice", "--data", data)}
	c.ask("POST", "/ingest/new/shop/orders", nil, nil)
	text := csv(20_000)
	file := c.upload("orders.csv", int64(len(text)), strings.NewReader(text))
	c.ingest("shop/orders", file)
	if got := c.settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	question := object{"username": "self", "namespace": "shop", "query": "How many orders are there?"}
	rows := object{"data": []object{{"id": 1, "name": strings.Repeat("x", 1<<20)}}}
	works := func() {
		t.Helper()
		var answer struct{ Response string }
		if status := c.ask("POST", "/query/autorag", question, &answer); status != http.StatusOK || !strings.Contains(answer.Response, "20000") {
			t.Errorf("a question: %d %s", status, answer.Response)
		}
	}
	works()

	_, free := disk.fill(p, 0)
	refused := func(what string, status int) {
		t.Helper()
		if status != http.StatusServiceUnavailable {
			t.Errorf("%s on a full disk: %d", what, status)
		}
	}
	refused("rows", c.ask("POST", "/ingest/shop/orders", rows, nil))
	refused("a token", c.ask("POST", "/user/token", object{"name": strings.Repeat("n", 100)}, nil))
	refused("a question", c.ask("POST", "/query/autorag", question, nil))
	c.refused(writeKnocks[len(writeKnocks)-2:]...) // over A2A
	refused("an upload", c.sendPart(bytes.Repeat([]byte("x"), 1<<20)))
	if got := c.count("shop/orders"); got != 20_000 {
		t.Errorf("%d orders on a full disk", got)
	}
	if status, _ := p.call("", "GET", "/healthz", ""); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}

	free()
	eventually(t, func() bool { return c.ask("POST", "/user/token", object{"name": "n"}, nil) == http.StatusOK })
	works()

	large := noise(500_000)
	largeFile := c.upload("large.csv", int64(len(large)), strings.NewReader(large))
	_, free = disk.fill(p, 1<<20) // which is enough for the records
	c.ingest("shop/orders", largeFile)
	if got := c.settled("shop/orders")[0]; got.Status != "failed" || !strings.Contains(got.StatusMessage, "no room left") {
		t.Errorf("an ingestion on a full disk: %+v", got)
	}
	if got := c.count("shop/orders"); got != 20_000 {
		t.Errorf("%d orders after an ingestion that failed", got)
	}
	free()
	c.ingest("shop/orders", file)
	if got := c.settled("shop/orders"); got[0].Status != "completed" || c.count("shop/orders") != 40_000 {
		t.Errorf("afterwards: %+v, %d orders", got[0], c.count("shop/orders"))
	}
	if status := c.sendPart(bytes.Repeat([]byte("x"), 1<<20)); status != http.StatusOK {
		t.Errorf("an upload afterwards: %d", status)
	}
	(&fallible{t: t, token: c.token, where: func() *process { return p }}).awaitNoOpenRuns()
}

// noise is CSV that cannot be made smaller by much.
func noise(rows int) string {
	random := rand.New(rand.NewPCG(1, 2))
	text := strings.Builder{}
	text.WriteString("id,name,total\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,%x%x,1\n", i, random.Uint64(), random.Uint64())
	}
	return text.String()
}

// sendPart begins an upload and sends its one part.
func (c client) sendPart(content []byte) int {
	c.t.Helper()
	var session struct {
		Files []struct{ PresignedURLs []struct{ URL string } }
	}
	status := c.ask("POST", "/file-upload/prepare", object{"filesToUpload": []object{{"filename": "x.csv", "size": len(content)}}}, &session)
	if status != http.StatusOK {
		return status
	}
	request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, session.Files[0].PresignedURLs[0].URL, bytes.NewReader(content))
	if err != nil {
		c.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// awaitNoOpenRuns waits until every run has ended.
func (f *fallible) awaitNoOpenRuns() {
	f.t.Helper()
	eventually(f.t, func() bool { return f.openRuns() == 0 })
}
