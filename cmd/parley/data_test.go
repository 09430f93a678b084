package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/internal/pgtest"
	"parley/internal/s3test"
)

// client is a user of a running server.
type client struct {
	*process
	token string
}

// ask sends JSON and reads the JSON that comes back.
func (c client) ask(method, path string, body, into any) int {
	c.t.Helper()
	text := []byte("{}")
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			c.t.Fatal(err)
		}
	}
	status, answer := c.call(c.token, method, "/api/v1"+path, string(text))
	if into != nil {
		if err := json.Unmarshal([]byte(answer), into); err != nil {
			c.t.Fatalf("%s %s: %d %s", method, path, status, answer)
		}
	}
	return status
}

type object map[string]any

// uploaded is a file that was uploaded.
type uploaded struct{ SessionID, FileID string }

// upload sends a file in its parts.
func (c client) upload(name string, size int64, content io.Reader) uploaded {
	c.t.Helper()
	var session struct {
		SessionID string
		Files     []struct {
			FileID, UploadID, Key string
			PresignedURLs         []struct {
				URL      string
				PartSize int64
			}
		}
	}
	c.ask("POST", "/file-upload/prepare", object{"filesToUpload": []object{{"filename": name, "size": size}}}, &session)
	file := session.Files[0]
	var parts []object
	for i, part := range file.PresignedURLs {
		request, err := http.NewRequestWithContext(c.t.Context(), http.MethodPut, part.URL, io.LimitReader(content, part.PartSize))
		if err != nil {
			c.t.Fatal(err)
		}
		request.ContentLength = part.PartSize
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			c.t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			c.t.Fatalf("part %d: %d", i+1, response.StatusCode)
		}
		parts = append(parts, object{"partNumber": i + 1, "etag": response.Header.Get("ETag")})
	}
	status := c.ask("POST", "/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish",
		object{"uploadId": file.UploadID, "key": file.Key, "parts": parts}, nil)
	if status != http.StatusOK {
		c.t.Fatalf("finish: %d", status)
	}
	return uploaded{session.SessionID, file.FileID}
}

// ingestion is one as it is listed.
type ingestion struct {
	ID, Status, StatusMessage string
	ProcessedRows             int64
}

func (c client) ingest(dataset string, file uploaded) string {
	c.t.Helper()
	var started struct{ ID string }
	c.ask("POST", "/data/self/"+dataset+"/ingest", object{"files": []object{{"sessionId": file.SessionID, "fileId": file.FileID}}}, &started)
	return started.ID
}

func (c client) ingestions(dataset string) []ingestion {
	c.t.Helper()
	var list struct{ Data []ingestion }
	c.ask("GET", "/data/self/"+dataset+"/ingest/attempts?pageSize=100", nil, &list)
	return list.Data
}

// settled waits until no ingestion of a dataset is under way.
func (c client) settled(dataset string) []ingestion {
	c.t.Helper()
	var list []ingestion
	eventually(c.t, func() bool {
		list = c.ingestions(dataset)
		return !slices.ContainsFunc(list, func(i ingestion) bool { return i.Status == "pending" || i.Status == "processing" })
	})
	return list
}

// count gives how many rows a dataset has when it is asked, not told.
func (c client) count(dataset string) int64 {
	c.t.Helper()
	namespace, name, _ := strings.Cut(dataset, "/")
	var answer struct{ Data []struct{ N int64 } }
	if status := c.ask("POST", "/query", object{"username": "self", "namespace": namespace, "query": "SELECT count(*) AS n FROM " + name}, &answer); status != http.StatusOK {
		return 0
	}
	return answer.Data[0].N
}

func csv(rows int) string {
	var text strings.Builder
	text.WriteString("id,name,total\n")
	for i := range rows {
		fmt.Fprintf(&text, "%d,name %d,%d.5\n", i, i%10, i)
	}
	return text.String()
}

// TestDataOnEveryHome uploads, ingests, appends and queries, restarts in
// between, with the records and the bytes in each of their homes.
func TestDataOnEveryHome(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := serve(t, dir, env)
		c := client{p, p.token("alice")}
		c.ask("POST", "/ingest/new/shop/orders", nil, nil)
		text := csv(1000)
		c.ingest("shop/orders", c.upload("orders.csv", int64(len(text)), strings.NewReader(text)))
		if got := c.settled("shop/orders"); got[0].Status != "completed" || got[0].ProcessedRows != 1000 {
			t.Fatalf("ingestion: %+v", got)
		}
		if status := c.ask("POST", "/ingest/shop/orders", object{"data": []object{{"id": 1000, "name": "last", "total": 1}}}, nil); status != http.StatusOK {
			t.Errorf("append: %d", status)
		}
		p.signal(syscall.SIGTERM)
		p.wait()

		c.process = serve(t, dir, env)
		if got := c.count("shop/orders"); got != 1001 {
			t.Errorf("rows after a restart: %d", got)
		}
		if status := c.ask("DELETE", "/data/self/shop?deleteDatasets=true", nil, nil); status != http.StatusNoContent {
			t.Errorf("delete: %d", status)
		}
	}
	t.Run("folder", func(t *testing.T) {
		t.Parallel()
		test(t, nil)
	})
	t.Run("bucket", func(t *testing.T) {
		t.Parallel()
		endpoint, access, secret := s3test.Server(t)
		test(t, []string{
			"PARLEY_DATABASE_URL=" + pgtest.URL(t),
			"PARLEY_OBJECTS=s3://" + s3test.Bucket(t) + "/parley?endpoint=" + endpoint + "&region=" + s3test.Region + "&path_style=true",
			"AWS_ACCESS_KEY_ID=" + access, "AWS_SECRET_ACCESS_KEY=" + secret,
		})
	})
}

// TestUploadMemory uploads a large file and looks at what the server took for
// it. PARLEY_TEST_UPLOAD_MIB makes it larger.
func TestUploadMemory(t *testing.T) {
	t.Parallel()
	size := int64(envNumber("PARLEY_TEST_UPLOAD_MIB", 128)) << 20
	p := serve(t, t.TempDir(), nil)
	c := client{p, p.token("alice")}
	c.upload("small.bin", 1<<20, zeros{})
	before := p.peakMemory()
	c.upload("large.bin", size, zeros{})
	after := p.peakMemory()
	t.Logf("%d MiB uploaded: the server's peak went from %d to %d MiB", size>>20, before>>20, after>>20)
	if after-before > 64<<20 {
		t.Errorf("the server's memory rose by %d MiB", (after-before)>>20)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func envNumber(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// peakMemory is the most memory that the server has had, in bytes.
func (p *process) peakMemory() int64 {
	p.t.Helper()
	return peakMemory(p.t, p.cmd.Process.Pid)
}

// peakMemory is the most memory that a process has had, in bytes.
func peakMemory(t testing.TB, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Skip("the kernel does not say")
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kib, err := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("no VmHWM")
	return 0
}

// TestKilledInTheMiddle kills the server at random moments of uploads and
// ingestions. After each restart, what was finished is whole and what was not is
// not to be seen; in the end no file is left that belongs to nothing.
// PARLEY_TEST_KILLS says how often.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	kills := envNumber("PARLEY_TEST_KILLS", 6)
	const rows = 2000
	dir, text := t.TempDir(), csv(rows)
	p := serve(t, dir, nil)
	token := p.token("alice")
	for kill := range kills {
		dataset := fmt.Sprint("shop/orders", kill)
		client{p, token}.ask("POST", "/ingest/new/"+dataset, nil, nil)
		died := make(chan struct{})
		go func(p *process) {
			defer close(died)
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			_ = p.cmd.Process.Kill()
			<-p.done
		}(p)
		until(died, func() { uploadAndIngest(p, token, dataset, text) })
		<-died
		p = serve(t, dir, nil)
		c := client{p, token}
		var finished int64
		for _, i := range c.settled(dataset) {
			if i.Status == "failed" {
				t.Errorf("after kill %d: %+v", kill, i)
			}
			if i.Status == "completed" {
				finished += rows
			}
		}
		if got := c.count(dataset); got != finished {
			t.Fatalf("after kill %d: %d rows, where %d were ingested", kill, got, finished)
		}
	}
	p.signal(syscall.SIGTERM)
	p.wait()
	checkNoOrphans(t, dir)
}

// uploadAndIngest goes on until the server is gone, which is no error.
func uploadAndIngest(p *process, token, dataset, text string) {
	send := func(method, url string, body []byte) (http.Header, []byte, bool) {
		request, err := http.NewRequestWithContext(p.t.Context(), method, url, bytes.NewReader(body))
		if err != nil {
			return nil, nil, false
		}
		request.Header.Set("Authorization", "Bearer "+token)
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return nil, nil, false
		}
		defer func() { _ = response.Body.Close() }()
		answer, err := io.ReadAll(response.Body)
		return response.Header, answer, err == nil && response.StatusCode < 300
	}
	api := p.url + "/api/v1"
	_, answer, ok := send("POST", api+"/file-upload/prepare", fmt.Appendf(nil, `{"filesToUpload":[{"filename":"a.csv","size":%d}]}`, len(text)))
	var session struct {
		SessionID string
		Files     []struct {
			FileID, UploadID, Key string
			PresignedURLs         []struct{ URL string }
		}
	}
	if !ok || json.Unmarshal(answer, &session) != nil {
		return
	}
	file := session.Files[0]
	header, _, ok := send("PUT", file.PresignedURLs[0].URL, []byte(text))
	if !ok {
		return
	}
	finish, err := json.Marshal(object{"uploadId": file.UploadID, "key": file.Key, "parts": []object{{"partNumber": 1, "etag": header.Get("ETag")}}})
	if err != nil {
		return
	}
	if _, _, ok = send("POST", api+"/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish", finish); !ok {
		return
	}
	send("POST", api+"/data/self/"+dataset+"/ingest", fmt.Appendf(nil, `{"files":[{"sessionId":%q,"fileId":%q}]}`, session.SessionID, file.FileID))
}

// until repeats what is done until done is closed.
func until(done <-chan struct{}, do func()) {
	for {
		select {
		case <-done:
			return
		default:
			do()
		}
	}
}

// checkNoOrphans makes everything loose due, has a server tidy up, and compares
// the files there are with those that the records name.
func checkNoOrphans(t *testing.T, dir string) {
	t.Helper()
	data := filepath.Join(dir, "parley-data")
	db, err := sqlx.Open("sqlite", filepath.Join(data, "parley.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	if _, err := db.Exec(`UPDATE loose_objects SET due_at = 0`); err != nil {
		t.Fatal(err)
	}
	p := serve(t, dir, nil)
	eventually(t, func() bool {
		var loose int
		return db.Get(&loose, `SELECT count(*) FROM loose_objects`) == nil && loose == 0
	})
	p.signal(syscall.SIGTERM)
	p.wait()
	var named []string
	if err := db.Select(&named, `SELECT object_key FROM dataset_files`); err != nil {
		t.Fatal(err)
	}
	var there []string
	root := filepath.Join(data, "objects", "objects")
	err = filepath.WalkDir(filepath.Join(root, "datasets"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			key, _ := filepath.Rel(root, path)
			there = append(there, filepath.ToSlash(key))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(named)
	slices.Sort(there)
	if !slices.Equal(named, there) {
		t.Errorf("files %v, of which %v belong to a dataset", there, named)
	}
	if work, err := filepath.Glob(filepath.Join(data, "work", "*")); err != nil || len(work) > 0 {
		t.Errorf("left at work: %v, %v", work, err)
	}
}
