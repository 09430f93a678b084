package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"

	"parley/cmd/parley/e2e/e2etest"
	"parley/internal/pgtest"
	"parley/internal/s3test"
)

// TestDataOnEveryHome uploads, ingests, appends and queries, restarts in
// between, with the records and the bytes in each of their homes.
func TestDataOnEveryHome(t *testing.T) {
	t.Parallel()
	test := func(t *testing.T, env []string) {
		dir := t.TempDir()
		p := e2etest.Serve(t, dir, env)
		c := e2etest.Client{Process: p, Token: p.Token("alice")}
		c.Ask("POST", "/ingest/new/shop/orders", nil, nil)
		text := e2etest.CSV(1000)
		c.Ingest("shop/orders", c.Upload("orders.csv", int64(len(text)), strings.NewReader(text)))
		if got := c.Settled("shop/orders"); got[0].Status != "completed" || got[0].ProcessedRows != 1000 {
			t.Fatalf("ingestion: %+v", got)
		}
		if status := c.Ask("POST", "/ingest/shop/orders", e2etest.Object{"data": []e2etest.Object{{"id": 1000, "name": "last", "total": 1}}}, nil); status != http.StatusOK {
			t.Errorf("append: %d", status)
		}
		p.Signal(syscall.SIGTERM)
		p.Wait()

		c.Process = e2etest.Serve(t, dir, env)
		if got := c.Count("shop/orders"); got != 1001 {
			t.Errorf("rows after a restart: %d", got)
		}
		if status := c.Ask("DELETE", "/data/self/shop?deleteDatasets=true", nil, nil); status != http.StatusNoContent {
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
	size := int64(e2etest.EnvNumber("PARLEY_TEST_UPLOAD_MIB", 128)) << 20
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.Upload("small.bin", 1<<20, zeros{})
	before := p.PeakMemory()
	c.Upload("large.bin", size, zeros{})
	after := p.PeakMemory()
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

// TestKilledInTheMiddle kills the server at random moments of uploads and
// ingestions. After each restart, what was finished is whole and what was not is
// not to be seen; in the end no file is left that belongs to nothing.
// PARLEY_TEST_KILLS says how often.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	kills := e2etest.EnvNumber("PARLEY_TEST_KILLS", 6)
	const rows = 2000
	dir, text := t.TempDir(), e2etest.CSV(rows)
	p := e2etest.Serve(t, dir, nil)
	token := p.Token("alice")
	for kill := range kills {
		dataset := fmt.Sprint("shop/orders", kill)
		e2etest.Client{Process: p, Token: token}.Ask("POST", "/ingest/new/"+dataset, nil, nil)
		died := make(chan struct{})
		go func(p *e2etest.Process) {
			defer close(died)
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			_ = p.Cmd.Process.Kill()
			<-p.Done
		}(p)
		until(died, func() { uploadAndIngest(p, token, dataset, text) })
		<-died
		p = e2etest.Serve(t, dir, nil)
		c := e2etest.Client{Process: p, Token: token}
		var finished int64
		for _, i := range c.Settled(dataset) {
			if i.Status == "failed" {
				t.Errorf("after kill %d: %+v", kill, i)
			}
			if i.Status == "completed" {
				finished += rows
			}
		}
		if got := c.Count(dataset); got != finished {
			t.Fatalf("after kill %d: %d rows, where %d were ingested", kill, got, finished)
		}
	}
	p.Signal(syscall.SIGTERM)
	p.Wait()
	checkNoOrphans(t, dir)
}

// uploadAndIngest goes on until the server is gone, which is no error.
func uploadAndIngest(p *e2etest.Process, token, dataset, text string) {
	send := func(method, url string, body []byte) (http.Header, []byte, bool) {
		request, err := http.NewRequestWithContext(p.T.Context(), method, url, bytes.NewReader(body))
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
	api := p.URL + "/api/v1"
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
	finish, err := json.Marshal(e2etest.Object{"uploadId": file.UploadID, "key": file.Key, "parts": []e2etest.Object{{"partNumber": 1, "etag": header.Get("ETag")}}})
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

// checkNoOrphans makes all orphaned objects due, has a server tidy up, and compares
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
	p := e2etest.Serve(t, dir, nil)
	e2etest.Eventually(t, func() bool {
		var orphaned int
		return db.Get(&orphaned, `SELECT count(*) FROM loose_objects`) == nil && orphaned == 0
	})
	p.Signal(syscall.SIGTERM)
	p.Wait()
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
	// On a slow machine every kill may come before the first file.
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
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
