package server

import (
	"archive/zip"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jmoiron/sqlx"
	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
)

// TestKilledInTheMiddle kills the server at random moments of uploads and
// ingestions of files of several formats, of half of them in usual runs. After each restart, what was finished is whole and what was not is
// not to be seen; in the end no file is left that belongs to nothing.
func TestKilledInTheMiddle(t *testing.T) {
	t.Parallel()
	const rows = 2000
	dir, files := t.TempDir(), filesOf(t, rows)
	p := e2etest.Serve(t, dir, nil)
	token := p.Token("alice")
	for kill, file := range files {
		if kill%2 > 0 && !fulltest.Full() {
			continue
		}
		dataset := fmt.Sprint("shop/orders", kill)
		e2etest.Client{Process: p, Token: token}.Ask("POST", "/ingest/new/"+dataset, nil, nil)
		died := make(chan struct{})
		go func(p *e2etest.Process) {
			defer close(died)
			time.Sleep(time.Duration(rand.IntN(400)) * time.Millisecond)
			_ = p.Cmd.Process.Kill()
			<-p.Done
		}(p)
		until(died, func() { uploadAndIngest(p, token, dataset, file) })
		<-died
		p = e2etest.Serve(t, dir, nil)
		c := e2etest.Client{Process: p, Token: token}
		var started []int
		for _, dataset := range file.datasets(dataset) {
			var finished int64
			ingestions := c.Settled(dataset)
			for _, i := range ingestions {
				if i.Status == "failed" {
					t.Errorf("after kill %d: %+v", kill, i)
				}
				if i.Status == "completed" {
					finished += rows
				}
			}
			if got := c.Count(dataset); got != finished {
				t.Fatalf("after kill %d: %s has %d rows, where %d were ingested", kill, dataset, got, finished)
			}
			started = append(started, len(ingestions))
		}
		if slices.Min(started) != slices.Max(started) {
			t.Errorf("after kill %d: %v ingestions of the tables of %s", kill, started, file.name)
		}
	}
	p.Signal(syscall.SIGTERM)
	p.Wait()
	checkNoOrphans(t, dir)
}

// upload is a file to send.
type upload struct {
	name    string
	content []byte
	// tables, unless empty, are ingested each into a dataset of its own.
	tables []string
}

// datasets names the datasets into which a file is ingested.
func (u upload) datasets(name string) []string {
	if len(u.tables) == 0 {
		return []string{name}
	}
	var names []string
	for _, table := range u.tables {
		names = append(names, name+"_"+table)
	}
	return names
}

// filesOf returns files of several formats that hold the same rows.
func filesOf(t *testing.T, rows int) []upload {
	t.Helper()
	text := e2etest.CSV(rows)
	records, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	var objects []e2etest.Object
	book := excelize.NewFile()
	for i, record := range records {
		cells := make([]any, len(record))
		page.WriteString("<tr>")
		for j, cell := range record {
			cells[j] = cell
			page.WriteString("<td>" + cell + "</td>")
		}
		page.WriteString("</tr>")
		if err := book.SetSheetRow("Sheet1", fmt.Sprint("A", i+1), &cells); err != nil {
			t.Fatal(err)
		}
		if i > 0 {
			objects = append(objects, e2etest.Object{"id": i, "name": record[1], "total": i})
		}
	}
	var sheet, archive bytes.Buffer
	if err := book.Write(&sheet); err != nil {
		t.Fatal(err)
	}
	packed := zip.NewWriter(&archive)
	entry, err := packed.Create("orders.csv")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(entry, text); err != nil {
		t.Fatal(err)
	}
	if err := packed.Close(); err != nil {
		t.Fatal(err)
	}
	return []upload{
		{name: "a.csv", content: []byte(text)},
		{name: "a.xlsx", content: sheet.Bytes()},
		{name: "a.zip", content: archive.Bytes()},
		{name: "a.html", content: []byte("<table>" + page.String() + "</table>")},
		{name: "a.json", content: []byte(e2etest.ToJSON(e2etest.Object{"orders": objects}))},
		{name: "a.db", content: sqliteOf(t, rows)},
		{name: "b.json", content: []byte(e2etest.ToJSON(e2etest.Object{"a": objects, "b": objects})), tables: []string{"a", "b"}},
	}
}

// sqliteOf returns an SQLite file with a table.
func sqliteOf(t *testing.T, rows int) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.db")
	db, err := sqlx.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.Exec(`CREATE TABLE orders AS WITH RECURSIVE n(id) AS (SELECT 0 UNION ALL SELECT id + 1 FROM n WHERE id + 1 < ?) SELECT id, 'name' AS name, id + 0.5 AS total FROM n`, rows)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// uploadAndIngest goes on until the server is gone, which is no error.
func uploadAndIngest(p *e2etest.Process, token, dataset string, file upload) {
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
	_, answer, ok := send("POST", api+"/file-upload/prepare", fmt.Appendf(nil, `{"filesToUpload":[{"filename":%q,"size":%d}]}`, file.name, len(file.content)))
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
	sent := session.Files[0]
	header, _, ok := send("PUT", sent.PresignedURLs[0].URL, file.content)
	if !ok {
		return
	}
	finish, err := json.Marshal(e2etest.Object{"uploadId": sent.UploadID, "key": sent.Key, "parts": []e2etest.Object{{"partNumber": 1, "etag": header.Get("ETag")}}})
	if err != nil {
		return
	}
	if _, _, ok = send("POST", api+"/file-upload/"+session.SessionID+"/files/"+sent.FileID+"/finish", finish); !ok {
		return
	}
	if len(file.tables) > 0 {
		send("POST", api+"/data/self/"+dataset+"/ingest/tables", fmt.Appendf(nil, `{"sessionId":%q,"fileId":%q}`, session.SessionID, sent.FileID))
		return
	}
	send("POST", api+"/data/self/"+dataset+"/ingest", fmt.Appendf(nil, `{"files":[{"sessionId":%q,"fileId":%q}]}`, session.SessionID, sent.FileID))
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
