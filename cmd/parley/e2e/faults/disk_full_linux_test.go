package faults

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

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// fileLimit is the variable of the program's limit of file sizes, in bytes.
const fileLimit = "RUN_WITH_FILE_LIMIT"

// disk is one that can be full: a small file system or, where none can be mounted,
// any other, of which processes are then told how large a file may be.
type disk struct {
	t       *testing.T
	dir     string
	mounted bool
}

// smallDisk returns a disk of so many bytes.
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
func (d *disk) fill(p *e2etest.Process, but int64) (setting string, free func()) {
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
	limitFiles(p, uint64(but))
	return "", func() { limitFiles(p, unix.RLIM_INFINITY) }
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
func limitFiles(p *e2etest.Process, size uint64) {
	p.T.Helper()
	limit := &unix.Rlimit{Cur: size, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.Cmd.Process.Pid, unix.RLIMIT_FSIZE, limit, nil); err != nil {
		p.T.Fatal(err)
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
	p := e2etest.Serve(t, t.TempDir(), nil, "--data", data)
	c := e2etest.Client{Process: p, Token: p.Token("alice", "--data", data)}
	c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
	text := e2etest.CSV(20_000)
	file := c.Upload("orders.csv", int64(len(text)), strings.NewReader(text))
	c.Ingest("shop/orders", file)
	if got := c.Settled("shop/orders"); got[0].Status != "completed" {
		t.Fatalf("ingestion: %+v", got)
	}
	question := e2etest.Object{"username": "self", "namespace": "shop", "query": "How many orders are there?"}
	rows := e2etest.Object{"data": []e2etest.Object{{"id": 1, "name": strings.Repeat("x", 1<<20)}}}
	works := func() {
		t.Helper()
		var answer struct{ Response string }
		if status := c.Ask("POST", "/query/autorag", question, &answer); status != http.StatusOK || !strings.Contains(answer.Response, "20,000") {
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
	refused("rows", c.Ask("POST", "/ingest/shop/orders", rows, nil))
	refused("a token", c.Ask("POST", "/user/token", e2etest.Object{"name": strings.Repeat("n", 100)}, nil))
	refused("a question", c.Ask("POST", "/query/autorag", question, nil))
	checkRefused(c, writeKnocks[len(writeKnocks)-2:]...) // over A2A
	refused("an upload", sendPart(c, bytes.Repeat([]byte("x"), 1<<20)))
	if got := c.Count("shop/orders"); got != 20_000 {
		t.Errorf("%d orders on a full disk", got)
	}
	if status, _ := p.Call("", "GET", "/healthz", ""); status != http.StatusOK {
		t.Errorf("health: %d", status)
	}

	free()
	e2etest.Eventually(t, func() bool { return c.Ask("POST", "/user/token", e2etest.Object{"name": "n"}, nil) == http.StatusOK })
	works()

	large := noise(500_000)
	largeFile := c.Upload("large.csv", int64(len(large)), strings.NewReader(large))
	_, free = disk.fill(p, 1<<20) // which is enough for the records
	// It is refused, or fails if the server has not noticed yet.
	if started := c.Ingest("shop/orders", largeFile); started != "" {
		if got := c.Settled("shop/orders")[0]; got.Status != "failed" || !strings.Contains(got.StatusMessage, "no room left") {
			t.Errorf("an ingestion on a full disk: %+v", got)
		}
	}
	if got := c.Count("shop/orders"); got != 20_000 {
		t.Errorf("%d orders after an ingestion that failed", got)
	}
	free()
	c.Ingest("shop/orders", file)
	if got := c.Settled("shop/orders"); got[0].Status != "completed" || c.Count("shop/orders") != 40_000 {
		t.Errorf("afterwards: %+v, %d orders", got[0], c.Count("shop/orders"))
	}
	if status := sendPart(c, bytes.Repeat([]byte("x"), 1<<20)); status != http.StatusOK {
		t.Errorf("an upload afterwards: %d", status)
	}
	awaitNoOpenRuns((&e2etest.Fallible{T: t, Token: c.Token, Where: func() *e2etest.Process { return p }}))
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
func sendPart(c e2etest.Client, content []byte) int {
	c.T.Helper()
	var session struct {
		Files []struct{ PresignedURLs []struct{ URL string } }
	}
	status := c.Ask("POST", "/file-upload/prepare", e2etest.Object{"filesToUpload": []e2etest.Object{{"filename": "x.csv", "size": len(content)}}}, &session)
	if status != http.StatusOK {
		return status
	}
	request, err := http.NewRequestWithContext(c.T.Context(), http.MethodPut, session.Files[0].PresignedURLs[0].URL, bytes.NewReader(content))
	if err != nil {
		c.T.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		c.T.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// awaitNoOpenRuns waits until every run has ended.
func awaitNoOpenRuns(f *e2etest.Fallible) {
	f.T.Helper()
	e2etest.Eventually(f.T, func() bool { return f.OpenRuns() == 0 })
}
