package rest_test

import (
	"archive/zip"
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/objects"
	"parley/storage/sqlstore"
	"parley/storage/uploads"
)

// TestPartAddresses sends parts to addresses that are not quite right.
func TestPartAddresses(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	file := s.prepare("alice", "a.csv", 5).Files[0]
	right := file.PresignedURLs[0].URL
	change := func(name, value string) string {
		u, err := url.Parse(right)
		if err != nil {
			t.Fatal(err)
		}
		query := u.Query()
		query.Set(name, value)
		u.RawQuery = query.Encode()
		return u.String()
	}
	for _, test := range []struct {
		name, url, body string
		status          int
		code            string
	}{
		{"too short", right, "1234", http.StatusUnprocessableEntity, "VALIDATION_FAILED"},
		{"too long", right, "123456", http.StatusUnprocessableEntity, "VALIDATION_FAILED"},
		{"another size", change("size", "4"), "1234", http.StatusForbidden, "FORBIDDEN"},
		{"another part", change("partNumber", "2"), "12345", http.StatusForbidden, "FORBIDDEN"},
		{"another key", change("key", "uploads/x"), "12345", http.StatusForbidden, "FORBIDDEN"},
		{"a later end", change("expires", "9999999999"), "12345", http.StatusForbidden, "FORBIDDEN"},
		{"no signature", change("signature", ""), "12345", http.StatusForbidden, "FORBIDDEN"},
	} {
		s.checkError(test.name, s.put(test.url, test.body), test.status, test.code)
	}
	for range 2 { // a part may be sent again
		if got := s.put(right, "12345"); got.status != http.StatusOK || got.header.Get("ETag") == "" {
			t.Errorf("the right one: %d %v", got.status, got.header)
		}
	}
}

// TestUploadGoesOn breaks an upload off and goes on with it by its parts alone.
func TestUploadGoesOn(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		content := strings.Repeat("12345678", 1<<20) + "the rest"
		session := s.prepare("alice", "big.csv", len(content))
		file := session.Files[0]
		s.put(file.PresignedURLs[1].URL, "the rest")

		type part struct {
			PartNumber, PartSize int
			ETag, URL            string
		}
		var now struct {
			UploadID, Key, Filename, FileStatus string
			FileSize, PartSize                  int
			Parts                               []part
		}
		at := "/file-upload/" + session.SessionID + "/files/" + file.FileID
		look := func() {
			t.Helper()
			now.Parts = nil
			got := s.send("alice", http.MethodGet, at+"/parts", "", "")
			if err := json.Unmarshal([]byte(got.body), &now); err != nil || got.status != http.StatusOK {
				t.Fatalf("%d %s", got.status, got.body)
			}
		}
		look()
		if now.UploadID != file.UploadID || now.Key != file.Key || now.Filename != "big.csv" || now.FileSize != len(content) || now.PartSize != 8<<20 || now.FileStatus != "preparing" {
			t.Errorf("%+v", now)
		}
		first, second := now.Parts[0], now.Parts[1]
		if first.PartSize != 8<<20 || first.URL == "" || first.ETag != "" || second.PartSize != 8 || second.URL != "" || second.ETag == "" {
			t.Fatalf("parts %+v", now.Parts)
		}
		s.put(first.URL, content[:8<<20])
		look()
		sent := []any{}
		for _, part := range now.Parts {
			sent = append(sent, map[string]any{"partNumber": part.PartNumber, "etag": part.ETag})
		}
		if status := s.post("alice", at+"/finish", map[string]any{"uploadId": now.UploadID, "key": now.Key, "parts": sent}, nil); status != http.StatusOK {
			t.Errorf("finish: %d", status)
		}
		look()
		if now.FileStatus != "completed" || len(now.Parts) > 0 {
			t.Errorf("afterwards: %+v", now)
		}
	})
}

// TestUploadIntoDataset uploads a file straight into a dataset that is made by
// it, and then one that is not as it should be, which changes nothing.
func TestUploadIntoDataset(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		const dataset = "/data/alice/shop/orders"
		upload := func(name, content string) attempt {
			t.Helper()
			var prepared struct {
				UploadID, Key string
				PresignedURLs []struct {
					URL  string
					Size int
				}
			}
			s.post("alice", "/upload/multipart/self/shop/orders/prepare", map[string]any{"filename": name, "size": len(content)}, &prepared)
			etag := s.put(prepared.PresignedURLs[0].URL, content).header.Get("ETag")
			var started, again struct{ ID string }
			for _, id := range []any{&started, &again} { // the second time changes nothing
				status := s.post("alice", "/upload/multipart/self/shop/orders/finish", map[string]any{
					"uploadId": prepared.UploadID, "key": prepared.Key, "parts": []any{map[string]any{"partNumber": 1, "etag": etag}},
					"name": "the file " + name, "dataDescription": "What we sold"}, id)
				if status != http.StatusCreated {
					t.Fatalf("finish: %d", status)
				}
			}
			if started != again {
				t.Errorf("finished twice, ingested as %s and %s", started.ID, again.ID)
			}
			return s.ingested("alice", dataset, started.ID)
		}
		if got := upload("orders.csv", ordersCSV); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
		got := upload("bad.csv", "id,item,price,count\n4,plum,1,1\n5,fig,1,1,extra\n")
		if got.Status != "failed" || !strings.Contains(got.StatusMessage, "line 3") || strings.Contains(got.StatusMessage, "/tmp") {
			t.Errorf("a ragged file: %+v", got)
		}
		var first, second struct{ ID string }
		s.post("alice", "/ingestionTracking/"+got.ID+"/retry", nil, &first)
		s.post("alice", "/ingestionTracking/"+got.ID+"/retry", nil, &second)
		if first.ID == "" || first != second {
			t.Errorf("retried as %q and %q", first.ID, second.ID)
		}
		if again := s.ingested("alice", dataset, first.ID); again.Status != "failed" {
			t.Errorf("the retry: %+v", again)
		}
		if got := upload("more.json", `[{"id":4,"item":"plum","price":2.5,"note":"ripe"}]`); got.Status != "completed" {
			t.Errorf("a new column: %+v", got)
		}
		if got := s.send("alice", http.MethodGet, dataset+"/ingest/attempts", "", ""); !strings.Contains(got.body, `"name":"the file orders.csv"`) {
			t.Errorf("attempts: %s", got.body)
		}
		s.golden("upload-into-dataset", `
alice GET /data/alice/shop/orders
alice POST /query {"username":"self","namespace":"shop","query":"SELECT * FROM orders ORDER BY id"}
`)
	})
}

// TestUploadStaysWithItsDataset prepares an upload for one dataset and finishes it
// into others. What is refused changes nothing.
func TestUploadStaysWithItsDataset(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		var prepared struct {
			UploadID, Key string
			PresignedURLs []struct{ URL string }
		}
		s.post("alice", "/upload/multipart/self/mp/one/prepare", map[string]any{"filename": "a.csv", "size": 4}, &prepared)
		etag := s.put(prepared.PresignedURLs[0].URL, "a\n1\n").header.Get("ETag")
		s.vars["upload"] = fmt.Sprintf(`"uploadId":%q,"key":%q,"parts":[{"partNumber":1,"etag":%q}],"dataDescription":"d"`, prepared.UploadID, prepared.Key, etag)
		send := func(at string) answer {
			return s.send("alice", http.MethodPost, "/upload/multipart/self/"+at, "application/json", s.expand("{{upload}}"))
		}
		absent := func(dataset string) {
			t.Helper()
			if got := s.send("alice", http.MethodGet, "/data/self/"+dataset, "", ""); got.status != http.StatusNotFound {
				t.Errorf("%s: %d %s", dataset, got.status, got.body)
			}
		}
		s.post("alice", "/upload/multipart/self/mp/two/prepare", map[string]any{"filename": "b.csv", "size": 4}, &prepared)
		if status := s.post("alice", "/upload/multipart/self/mp/two/abort", map[string]any{"uploadId": prepared.UploadID, "key": prepared.Key}, nil); status != http.StatusOK {
			t.Errorf("abort: %d", status)
		}
		for _, operation := range []string{"mp/two/finish", "other/one/finish", "mp/two/abort"} {
			got := send(operation)
			s.checkError(operation, got, http.StatusUnprocessableEntity, "VALIDATION_FAILED")
			if !strings.Contains(got.body, `"code":"key"`) {
				t.Errorf("%s: %s", operation, got.body)
			}
		}
		absent("mp/one")
		absent("mp/two")
		var started struct{ ID string }
		got := send("MP/One/finish") // names are compared without regard to case
		if err := json.Unmarshal([]byte(got.body), &started); err != nil || got.status != http.StatusCreated {
			t.Fatalf("%d %s", got.status, got.body)
		}
		if got := s.ingested("alice", "/data/self/mp/one", started.ID); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
		s.send("alice", http.MethodPost, "/data/self/mp/one/rename", "text/plain", "three")
		s.checkError("finished, and renamed since", send("mp/one/finish"), http.StatusConflict, "CONFLICT")
		absent("mp/one")
	})
}

// TestIngestionAskedForAgain starts an ingestion twice under one id: it is one.
func TestIngestionAskedForAgain(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		s.haveUpload()
		const dataset = "/data/alice/shop/empty"
		start := func(id string) answer {
			return s.send("alice", http.MethodPost, dataset+"/ingest", "application/json", s.expand(`{"files":[{"sessionId":"{session}","fileId":"{file}"}],"id":"`+id+`"}`))
		}
		id := uuid.NewString()
		for range 2 {
			if got := start(id); got.status != http.StatusAccepted || !strings.Contains(got.body, id) {
				t.Errorf("%d %s", got.status, got.body)
			}
		}
		if got := s.ingested("alice", dataset, id); got.Status != "completed" {
			t.Errorf("%+v", got)
		}
		if got := s.send("alice", http.MethodGet, dataset+"/ingest/attempts", "", ""); strings.Count(got.body, `"status"`) != 1 {
			t.Errorf("attempts: %s", got.body)
		}
		again := s.send("alice", http.MethodPost, dataset+"/ingest", "application/json",
			s.expand(`{"files":[{"sessionId":"{session}","fileId":"{file}"}],"mode":"replace","id":"`+id+`"}`))
		s.checkError("another ingestion", again, http.StatusConflict, "CONFLICT")
		s.checkError("no id", start("x"), http.StatusUnprocessableEntity, "VALIDATION_FAILED")
	})
}

// uploadWhole uploads a file of alice, and returns it as a request to ingest it.
func (s *service) uploadWhole(name, content string) map[string]any {
	s.t.Helper()
	session := s.prepare("alice", name, len(content))
	file := session.Files[0]
	etag := s.put(file.PresignedURLs[0].URL, content).header.Get("ETag")
	s.post("alice", "/file-upload/"+session.SessionID+"/files/"+file.FileID+"/finish", map[string]any{
		"uploadId": file.UploadID, "key": file.Key, "parts": []any{map[string]any{"partNumber": 1, "etag": etag}}}, nil)
	return map[string]any{"sessionId": session.SessionID, "fileId": file.FileID, "id": uuid.NewString()}
}

// tables is what ingest/tables has started.
type tables struct {
	Ingestions []struct{ ID, Dataset, Table string }
}

// A workbook with two sheets and macros is refused for one dataset, with the names of the
// sheets. Each sheet becomes a dataset without the macros, which a warning says.
func TestWorkbookWithSheetsAndMacros(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	const main = "http://schemas.openxmlformats.org/"
	cell := func(text string) string {
		return `<worksheet xmlns="` + main + `spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>` + text +
			`</t></is></c></row><row r="2"><c r="A2"><v>1</v></c></row></sheetData></worksheet>`
	}
	relation := func(id, kind, target string) string {
		return `<Relationship Id="` + id + `" Type="` + main + `officeDocument/2006/relationships/` + kind + `" Target="` + target + `"/>`
	}
	relations := func(all string) string {
		return `<Relationships xmlns="` + main + `package/2006/relationships">` + all + `</Relationships>`
	}
	var content strings.Builder
	archive := zip.NewWriter(&content)
	for name, text := range map[string]string{
		"[Content_Types].xml": `<Types xmlns="` + main + `package/2006/content-types"/>`,
		"_rels/.rels":         relations(relation("r", "officeDocument", "xl/workbook.xml")),
		"xl/workbook.xml": `<workbook xmlns="` + main + `spreadsheetml/2006/main" xmlns:r="` + main + `officeDocument/2006/relationships"><sheets>` +
			`<sheet name="May" sheetId="1" r:id="a"/><sheet name="June" sheetId="2" r:id="b"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": relations(relation("a", "worksheet", "worksheets/a.xml") + relation("b", "worksheet", "worksheets/b.xml")),
		"xl/worksheets/a.xml":        cell("amount"), "xl/worksheets/b.xml": cell("price"), "xl/vbaProject.bin": "macros",
	} {
		entry, err := archive.Create(name)
		if err == nil {
			_, err = io.WriteString(entry, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	book := s.uploadWhole("book.xlsm", content.String())
	s.post("alice", "/ingest/new/shop/orders", map[string]any{}, nil)
	var started struct{ ID string }
	s.post("alice", "/data/self/shop/orders/ingest", map[string]any{"files": []any{book}}, &started)
	if got := s.ingested("alice", "/data/self/shop/orders", started.ID); got.Status != "failed" || got.StatusMessage != "book.xlsm holds 2 tables: May, June; choose one" {
		t.Errorf("into one dataset: %+v", got)
	}
	var each tables
	if status := s.post("alice", "/data/self/shop/orders/ingest/tables", book, &each); status != http.StatusAccepted || len(each.Ingestions) != 2 {
		t.Fatalf("started: %d %+v", status, each)
	}
	for i, want := range []string{"orders_May", "orders_June"} {
		dataset := "/data/self/shop/" + each.Ingestions[i].Dataset
		got := s.ingested("alice", dataset, each.Ingestions[i].ID)
		attempts := s.send("alice", http.MethodGet, dataset+"/ingest/attempts", "", "").body
		if each.Ingestions[i].Dataset != want || got.Status != "completed" || !strings.Contains(attempts, `"message":"book.xlsm: its macros are not read"`) {
			t.Errorf("%s: %+v\n%s", want, got, attempts)
		}
	}
}

// TestEachTableOfAFile ingests the tables of one file, each into a dataset of its own.
func TestEachTableOfAFile(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		upload := s.uploadWhole
		var first, again, one tables
		const at = "/data/self/shop/year/ingest/tables"
		book := upload("year.json", `{"May":[{"id":1},{"id":2}],"may":[{"id":3}],"June 1":[{"name":"plum"}]}`)
		for _, into := range []any{&first, &again} { // the second time changes nothing
			if status := s.post("alice", at, book, into); status != http.StatusAccepted {
				t.Fatalf("start: %d", status)
			}
		}
		if !reflect.DeepEqual(first, again) || len(first.Ingestions) != 3 {
			t.Fatalf("started %+v, then %+v", first, again)
		}
		for i, want := range []string{"year_May: May", "year_may_2: may 2", "year_June_1: June 1"} {
			got := first.Ingestions[i]
			if got.Dataset+": "+got.Table != want {
				t.Errorf("%s, %s, want %s", got.Dataset, got.Table, want)
			}
			if ended := s.ingested("alice", "/data/self/shop/"+got.Dataset, got.ID); ended.Status != "completed" {
				t.Errorf("%s: %+v", got.Table, ended)
			}
		}
		s.post("alice", "/data/self/shop/single/ingest/tables", upload("a.csv", ordersCSV), &one)
		if len(one.Ingestions) != 1 || one.Ingestions[0].Dataset != "single" || one.Ingestions[0].Table != "" {
			t.Fatalf("one table: %+v", one)
		}
		s.ingested("alice", "/data/self/shop/single", one.Ingestions[0].ID)
		s.golden("ingest-tables", `
alice GET /schema/datasets/all
alice POST /query {"username":"self","namespace":"shop","query":"SELECT (SELECT count(*) FROM year_May) AS may, (SELECT count(*) FROM year_may_2) AS may2, (SELECT count(*) FROM year_June_1) AS june, (SELECT count(*) FROM single) AS single"}
`)
		// What is refused starts nothing.
		refused := map[string]any{"options": map[string]any{"sheet": "May"}}
		maps.Copy(refused, book)
		if status := s.post("alice", at, refused, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("a table chosen: %d", status)
		}
		if status := s.post("bob", "/data/alice/shop/year/ingest/tables", book, nil); status != http.StatusNotFound {
			t.Errorf("another user: %d", status)
		}
		other := upload("other.json", `{"a":[{"id":1}],"b":[{"id":2}]}`)
		taken := uuid.NewSHA1(uuid.MustParse(other["id"].(string)), []byte("b"))
		s.post("alice", "/data/self/shop/single/ingest", map[string]any{"files": []any{other}, "id": taken}, nil)
		if status := s.post("alice", "/data/self/shop/other/ingest/tables", other, nil); status != http.StatusConflict {
			t.Errorf("an id that is taken: %d", status)
		}
		if got := s.send("alice", http.MethodGet, "/data/self/shop/other_a", "", ""); got.status != http.StatusNotFound {
			t.Errorf("one of the tables: %d %s", got.status, got.body)
		}
	})
}

// completed makes the object of an upload whole, without a record of it.
func (s *service) completed(user string) prepared {
	s.t.Helper()
	session := s.prepare(user, "a.csv", 5)
	file := session.Files[0]
	etag := s.put(file.PresignedURLs[0].URL, "12345").header.Get("ETag")
	upload := objects.Upload{Key: file.Key, ID: file.UploadID}
	if err := s.folder.Complete(s.t.Context(), upload, objects.Plan{Size: 5, PartSize: 8 << 20}, []objects.Part{{Number: 1, ETag: etag}}); err != nil {
		s.t.Fatal(err)
	}
	return session
}

// TestStaleUploadsGo ends a session that has taken too long, one of whose files
// was made whole and never recorded: nothing of it stays.
func TestStaleUploadsGo(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	s := newService(t, store)
	session := s.completed("alice")
	file := session.Files[0]
	stale := uploads.New(uploads.Config{Records: store, Objects: s.folder, Stale: -time.Hour})
	if err := stale.AbortStale(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.folder.Path(t.Context(), file.Key); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("still there: %v", err)
	}
	s.vars["session"], s.vars["file"] = session.SessionID, file.FileID
	if got := s.put(file.PresignedURLs[0].URL, "12345"); got.status != http.StatusNotFound {
		t.Errorf("a part after the end: %d %s", got.status, got.body)
	}
	got := s.send("alice", http.MethodGet, "/file-upload/"+session.SessionID+"/files", "", "")
	if !strings.Contains(got.body, `"sessionStatus":"aborted"`) {
		t.Errorf("the session: %s", got.body)
	}
}

// TestUploadMadeAndNotRecorded goes on with a file of which the server knew no more
// than that its parts were to come: it had made it whole when it died.
func TestUploadMadeAndNotRecorded(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		s := newService(t, store)
		session := s.completed("alice")
		file := session.Files[0]
		at := "/file-upload/" + session.SessionID + "/files"
		got := s.send("alice", http.MethodGet, at+"/"+file.FileID+"/parts", "", "")
		if got.status != http.StatusOK || !strings.Contains(got.body, `"fileStatus":"completed"`) || !strings.Contains(got.body, `"parts":[]`) {
			t.Errorf("the parts: %d %s", got.status, got.body)
		}
		if got := s.send("alice", http.MethodGet, at, "", ""); !strings.Contains(got.body, `"sessionStatus":"completed"`) {
			t.Errorf("the session: %s", got.body)
		}
	})
}

// TestPartBrokenOff is a client that goes away in the middle of a part: no fault of
// the server's.
func TestPartBrokenOff(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	address, err := url.Parse(s.prepare("alice", "a.csv", 1<<20).Files[0].PresignedURLs[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", address.Host)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "PUT %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\nExpect: 100-continue\r\n\r\n", address.RequestURI(), address.Host, 1<<20)
	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
		t.Fatalf("%q, %v", line, err)
	}
	_, _ = io.WriteString(conn, "the beginning")
	_ = conn.Close()
	s.server.Close() // waits for the request to be logged
	if log := s.log.String(); strings.Contains(log, `"level":"ERROR"`) || !strings.Contains(log, `"status":499`) {
		t.Errorf("the log: %s", log)
	}
}

// TestManyAppendsAreCompacted adds rows in many small steps: they end up in few
// files, all of them, in their order.
func TestManyAppendsAreCompacted(t *testing.T) {
	t.Parallel()
	s := newService(t, sqlstoretest.SQLite(t))
	const appends = 36
	for i := range appends {
		if got := s.send("alice", http.MethodPost, "/ingest/shop/orders", "application/json", fmt.Sprintf(`{"data":[{"id":%d}]}`, i)); got.status != http.StatusOK {
			t.Fatalf("%d %s", got.status, got.body)
		}
	}
	data, err := s.store.DatasetData(t.Context(), domain.Caller{Username: "alice"}, domain.DatasetRef{Owner: "alice", Namespace: "shop", Name: "orders"})
	if err != nil || data.RowCount != appends || len(data.Files) > appends/2 {
		t.Errorf("%d rows in %d files, %v", data.RowCount, len(data.Files), err)
	}
	var result struct{ Data []struct{ ID int } }
	s.post("alice", "/query", map[string]any{"username": "self", "namespace": "shop", "query": "SELECT id FROM orders"}, &result)
	for i, row := range result.Data {
		if row.ID != i {
			t.Fatalf("row %d is %d", i, row.ID)
		}
	}
	if len(result.Data) != appends {
		t.Errorf("%d rows", len(result.Data))
	}
}
