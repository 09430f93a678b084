package a2aserver

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

const maxAttached = 64 << 10

// savedFiles is what a host has stored.
type savedFiles struct {
	mu    sync.Mutex
	files []domain.AttachedFile
	// names alone are kept where the content is not looked at.
	namesOnly bool
}

func (f *savedFiles) all() []domain.AttachedFile {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.files
}

// attaches has a host take files, which it keeps in memory.
func attaches(store *sqlstore.Store, limit int64, into *savedFiles) func(*Config) {
	return func(cfg *Config) {
		cfg.Attachments = &Attachments{
			MaxBytes: limit,
			Types:    map[string][]string{"text/csv": {".csv"}, "application/json": {".json"}, "text/html": {".html", ".htm"}},
			Save: func(ctx context.Context, _ domain.Caller, _ string, files []domain.AttachedFile) (saved []domain.Attachment, err error) {
				into.mu.Lock()
				defer into.mu.Unlock()
				for _, file := range files {
					id := domain.NewID()
					saved = append(saved, domain.Attachment{ID: id, Filename: file.Filename, Dataset: file.Dataset, Key: "attachments/" + id, Bytes: int64(len(file.Content))})
					err = errors.Join(err, store.AddOrphanedObjects(ctx, []string{"attachments/" + id}, time.Hour))
					if into.namesOnly {
						file.Content = nil
					}
					into.files = append(into.files, file)
				}
				return saved, err
			},
		}
	}
}

func rawPart(content, filename, media string) string {
	part := map[string]any{"raw": base64.StdEncoding.EncodeToString([]byte(content))}
	if filename != "" {
		part["filename"] = filename
	}
	if media != "" {
		part["mediaType"] = media
	}
	text, _ := json.Marshal(part)
	return string(text)
}

// withParts is a question about alice's shop with more parts.
func withParts(id, parts string) string {
	return `{"message":{"messageId":"` + id + `","role":"ROLE_USER","metadata":{"namespace":"alice/shop"},"parts":[{"text":"How many?"},` + parts + `]}}`
}

// A file is stored, and the task has its name and no bytes, in all bindings alike.
func TestAttachments(t *testing.T) {
	t.Parallel()
	const csv = "a,b\n1,2\n"
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		saved := &savedFiles{}
		b := newBindings(t, newHost(t, store, fourEvents, withCards, attaches(store, maxAttached, saved)))
		for name, call := range allBindings {
			for _, method := range []string{"SendMessage", "SendStreamingMessage"} {
				before := len(saved.all())
				id := strings.ReplaceAll(name, "+", "-") + method
				got := call(b, alice, method, withParts(id, rawPart(csv, "sales 2024.csv", "text/csv")), protocolVersion)
				if got.reason != "" {
					t.Fatalf("%s: %s", name, got)
				}
				files := saved.all()
				if len(files) != before+1 || files[before].Filename != "sales 2024.csv" || files[before].Dataset != "sales_2024" || string(files[before].Content) != csv {
					t.Fatalf("%s: saved %+v", name, files[before:])
				}
			}
		}
		tasks := allBindings["JSON-RPC"](b, alice, "ListTasks", `{}`, protocolVersion).String()
		want := fmt.Sprintf(`{"filename":"sales 2024.csv","mediaType":"text/csv","metadata":{"attachment":{"bytes":8,"dataset":"sales_2024","sha256":"%x"}},"raw":""}`,
			sha256.Sum256([]byte(csv)))
		if strings.Count(tasks, want) != 2*len(allBindings) || strings.Contains(tasks, base64.StdEncoding.EncodeToString([]byte(csv))) {
			t.Errorf("no %s in %s", want, tasks)
		}
		var list struct{ Tasks []struct{ ID string } }
		if err := json.Unmarshal([]byte(tasks), &list); err != nil {
			t.Fatal(err)
		}
		for _, task := range list.Tasks {
			pending, err := store.PendingAttachments(t.Context(), alice, task.ID)
			if err != nil || len(pending) != 1 || pending[0].Dataset != "sales_2024" || pending[0].Bytes != int64(len(csv)) {
				t.Errorf("pending: %+v, %v", pending, err)
			}
			for name, call := range allBindings {
				got := call(b, alice, "GetTask", `{"id":"`+task.ID+`"}`, protocolVersion).String()
				want := want
				if name == "0.3" { // whose files are not empty
					want = fmt.Sprintf(`{"data":{"attachment":{"bytes":8,"dataset":"sales_2024","sha256":"%x"},"filename":"sales 2024.csv","mediaType":"text/csv"}}`, sha256.Sum256([]byte(csv)))
				}
				if !strings.Contains(got, want) {
					t.Errorf("%s: %s", name, got)
				}
			}
		}
	})
}

// What is no file is refused, by all bindings with the same words, and nothing is stored.
func TestRefusedAttachments(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	saved := &savedFiles{}
	b := newBindings(t, newHost(t, store, fourEvents, withCards, attaches(store, maxAttached, saved)))
	half := strings.Repeat("x", maxAttached/2+1)
	for parts, want := range map[string]string{
		`{"url":"https://example.com/a.csv","mediaType":"text/csv"}`: "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is text/csv; files behind a url are not fetched; send the bytes in a raw part, or upload the file as a dataset",
		rawPart("\x89PNG", "", "image/png"):                          "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is image/png; data can be attached as application/json, text/csv, text/html",
		rawPart("\xd0\xcf", "old.xls", "application/vnd.ms-excel"):   "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is application/vnd.ms-excel; data can be attached as application/json, text/csv, text/html",
		`{"data":{"a":1}}`:                         "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is application/json; data must be an array of objects, each a row, not one object",
		`{"data":[]}`:                              "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is application/json; data must be an array of objects, each a row, not an empty one",
		`{"data":[{"a":1},2]}`:                     "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is application/json; data must be an array of objects, each a row, not one of other values",
		`{"data":"a"}`:                             "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is application/json; data must be an array of objects, each a row, not a single value",
		`{"data":[{"id":12345678901234567}]}`:      "-32602 INVALID_PARAMS: message.parts[1] has a whole number of more than 15 digits, which JSON data may change; send it as a text, or the rows as a file",
		rawPart("", "a.csv", "text/csv"):           "-32602 INVALID_PARAMS: message.parts[1].raw must not be empty",
		rawPart("a", "../a.csv", ""):               "-32602 INVALID_PARAMS: message.parts[1].filename must be a plain file name, without '/', '\\', '..' or control characters",
		rawPart("a", "C:\\a.csv", ""):              "-32602 INVALID_PARAMS: message.parts[1].filename must be a plain file name, without '/', '\\', '..' or control characters",
		rawPart("a", "a\n.csv", ""):                "-32602 INVALID_PARAMS: message.parts[1].filename must be a plain file name, without '/', '\\', '..' or control characters",
		rawPart("a", strings.Repeat("n", 256), ""): "-32602 INVALID_PARAMS: message.parts[1].filename must be at most 255 bytes",
		rawPart(half, "a.csv", "") + "," + rawPart(half, "b.csv", ""): fmt.Sprintf(
			"-32602 INVALID_PARAMS: message.parts must have files of at most %d bytes in all; upload larger ones as datasets", maxAttached),
		strings.Repeat(rawPart("a", "a.csv", "")+",", 10) + rawPart("a", "a.csv", ""): "-32602 INVALID_PARAMS: message.parts must have at most 10 files",
	} {
		for name, call := range allBindings {
			if name == "0.3" && strings.Contains(parts, `"raw":""`) {
				continue // has no empty files
			}
			if got := call(b, alice, "SendMessage", withParts("m", parts), protocolVersion); !got.unsaid && got.String() != want {
				t.Errorf("%s of %.100s: %s\nwant %s", name, parts, got, want)
			}
		}
	}
	if got := allBindings["gRPC"](b, alice, "ListTasks", `{}`, protocolVersion).String(); strings.Contains(got, `"id"`) || len(saved.all()) > 0 {
		t.Errorf("stored: %s, %d files", got, len(saved.all()))
	}
	response := postAs(t, b.server, alice, rpc("1", "message/send", `{"message":{"kind":"message","messageId":"m","role":"user","metadata":{"namespace":"shop"},`+
		`"parts":[{"kind":"text","text":"?"},{"kind":"file","file":{"bytes":"a,b","name":"a.csv"}}]}}`))
	if got := textOf(t, response); !strings.Contains(got, "message.parts[1].file.bytes must be base64") {
		t.Errorf("bad base64: %s", got)
	}
}

// The name of a file is that of its dataset, and says its format.
func TestAttachmentNames(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	saved := &savedFiles{}
	s := newHost(t, store, fourEvents, attaches(store, maxAttached, saved)).services["echo"]
	raw := func(filename, media string) *a2a.Part {
		return &a2a.Part{Content: a2a.Raw("x"), Filename: filename, MediaType: media}
	}
	data := func(filename string) *a2a.Part {
		return &a2a.Part{Content: a2a.Data{Value: []any{map[string]any{"a": 1.0}}}, Filename: filename}
	}
	for want, parts := range map[string][]*a2a.Part{
		"sales.csv=sales":                               {raw("sales.csv", "text/csv")},
		"SALES.CSV=SALES":                               {raw("SALES.CSV", "text/csv; charset=utf-8")},
		"sales.csv=sales ":                              {raw("sales.csv", "application/vnd.ms-excel")},
		"sales=sales":                                   {raw("sales", "")},
		"sales.csv=sales  ":                             {raw("sales", "TEXT/CSV")},
		"attachment.csv=attachment":                     {raw("", "text/csv")},
		"attachment=attachment":                         {raw("", "application/octet-stream")},
		"v1.2.csv=v1.2":                                 {raw("v1.2", "text/csv")},
		"page.htm=page":                                 {raw("page.htm", "text/html")},
		"data.json=data":                                {data("")},
		"items.json=items":                              {data("items")},
		"items.csv.json=items.csv":                      {data("items.csv")},
		"'; DROP TABLE x; --.csv=DROP_TABLE_x":          {raw("'; DROP TABLE x; --.csv", "")},
		"名前.csv=data_0073e150":                          {raw("名前.csv", "")},
		"a.csv=a A.csv=A_2 a.json=a_3":                  {raw("a.csv", ""), raw("A.csv", ""), raw("a.json", "")},
		"attachment.csv=attachment data.json=data":      {raw("", "text/csv"), data("")},
		"attachment=attachment attachment=attachment_2": {raw("", ""), raw("", "")},
	} {
		request := toShop("How many?")
		request.Message.Parts = append(request.Message.Parts, parts...)
		before := len(saved.all())
		if _, err := s.SendMessage(as(t, alice), request); err != nil {
			t.Errorf("%s: %v", want, err)
			continue
		}
		var got []string
		for _, file := range saved.all()[before:] {
			got = append(got, file.Filename+"="+file.Dataset)
			if problem := domain.CheckName(file.Dataset); problem != "" {
				t.Errorf("%s %s", file.Dataset, problem)
			}
		}
		if strings.Join(got, " ") != strings.TrimSpace(want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A message with a file that comes again has the same task, unless its bytes are others.
func TestRepeatedAttachment(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		withNamespace(t, store)
		saved := &savedFiles{}
		// Another host does not remember the message.
		first := newBindings(t, newHost(t, store, fourEvents, withCards, attaches(store, maxAttached, saved)))
		second := newBindings(t, newHost(t, store, fourEvents, withCards, attaches(store, maxAttached, saved)))
		params := withParts("m", rawPart("a,b\n1,2\n", "a.csv", ""))
		want := allBindings["JSON-RPC"](first, alice, "SendMessage", params, protocolVersion).String()
		for name, call := range allBindings {
			for _, b := range []bindings{first, second} {
				got := call(b, alice, "SendMessage", params, protocolVersion).String()
				if name == "0.3" {
					got = strings.Replace(got, got[strings.Index(got, `{"data":{"attachment"`):strings.LastIndex(got, `],"role"`)], want[strings.Index(want, `{"filename"`):strings.LastIndex(want, `],"role"`)], 1)
				}
				if got != want {
					t.Errorf("%s, again: %s\nwant %s", name, got, want)
				}
				other := withParts("m", rawPart("a,b\n1,3\n", "a.csv", ""))
				if got := call(b, alice, "SendMessage", other, protocolVersion); got.code != -32602 || !strings.Contains(got.message, "was used for another message") {
					t.Errorf("%s, other bytes: %s", name, got)
				}
			}
		}
		if files := saved.all(); len(files) != 1 {
			t.Errorf("saved %d files", len(files))
		}
	})
}

// Whoever has no namespace can ask about a file, and go on in its conversation.
func TestAttachmentWithoutNamespace(t *testing.T) {
	t.Parallel()
	sqlstoretest.Each(t, func(t *testing.T, store *sqlstore.Store) {
		saved := &savedFiles{}
		s := newHost(t, store, fourEvents, attaches(store, maxAttached, saved)).services["echo"]
		ask := func(context string, parts ...*a2a.Part) error {
			message := a2a.NewMessage(a2a.MessageRoleUser, append([]*a2a.Part{a2a.NewTextPart("How many?")}, parts...)...)
			message.ContextID = context
			_, err := s.SendMessage(as(t, alice), &a2a.SendMessageRequest{Message: message})
			return err
		}
		if err := ask("one"); err == nil || !strings.Contains(err.Error(), "attach a file to the question") {
			t.Errorf("without anything: %v", err)
		}
		if err := ask("one", &a2a.Part{Content: a2a.Raw("a\n1\n"), Filename: "a.csv"}); err != nil {
			t.Fatal(err)
		}
		if err := ask("one"); err != nil {
			t.Errorf("in its conversation: %v", err)
		}
		if err := ask("two"); err == nil {
			t.Error("another conversation has the file")
		}
	})
}

// An answer brings no files.
func TestAttachedAnswer(t *testing.T) {
	t.Parallel()
	store := sqlstoretest.SQLite(t)
	withNamespace(t, store)
	var asks script = func(_ context.Context, request *a2asrv.ExecutorContext, yield func(a2a.Event, error) bool) {
		yield(a2a.NewStatusUpdateEvent(request, a2a.TaskStateInputRequired, a2a.NewMessage(a2a.MessageRoleAgent, a2a.NewTextPart("Which?"))), nil)
	}
	b := newBindings(t, newHost(t, store, asks, withCards, attaches(store, maxAttached, &savedFiles{})))
	params := strings.Replace(withParts("m", rawPart("a,b", "a.csv", "")), `"messageId"`, `"contextId":"c","messageId"`, 1)
	if got := allBindings["gRPC"](b, alice, "SendMessage", params, protocolVersion); got.reason != "" {
		t.Fatal(got)
	}
	const want = "-32005 CONTENT_TYPE_NOT_SUPPORTED: message.parts[1] is application/octet-stream; an answer is text; files come with a question"
	for name, call := range allBindings {
		params := strings.Replace(params, `"messageId":"m"`, `"messageId":"`+strings.ReplaceAll(name, "+", "-")+`"`, 1)
		if got := call(b, alice, "SendMessage", params, protocolVersion).String(); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
