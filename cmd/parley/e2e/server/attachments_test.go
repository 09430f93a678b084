package server

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/internal/domain"
)

const salesCSV = "region,amount\nnorth,10\nsouth,20\nnorth,5\n"

// asks asks a question with more parts in a context, and gives the answer.
func asks(c e2etest.Client, agent, context, text string, parts ...e2etest.Object) string {
	c.T.Helper()
	return c.Say(agent, text, e2etest.Object{"contextId": context, "parts": append([]e2etest.Object{{"text": text}}, parts...)})
}

func rawFile(content, name string) e2etest.Object {
	return e2etest.Object{"raw": base64.StdEncoding.EncodeToString([]byte(content)), "filename": name}
}

// TestAttachments asks both agents about a file. Only the conversation that it came with
// sees it, and nobody who has no namespace needs one.
func TestAttachments(t *testing.T) {
	t.Parallel()
	e2etest.EachDatabase(t, func(t *testing.T, env []string) {
		p := e2etest.Serve(t, t.TempDir(), env)
		alice, bob := e2etest.Client{Process: p, Token: p.Token("alice")}, e2etest.Client{Process: p, Token: p.Token("bob")}
		bob.NewDataset("shop", "orders")
		sums := []string{`{"region":"north","total_amount":15,`, `{"region":"south","total_amount":20,`}
		for _, agent := range []string{"nl2ql", "assistant"} {
			answer := asks(alice, agent, "mine", "What is the total amount per region?", rawFile(salesCSV, "sales.csv"))
			for _, want := range append(sums, `"raw":"","filename":"sales.csv"`) {
				if !strings.Contains(answer, want) {
					t.Errorf("%s: no %s in %s", agent, want, answer)
				}
			}
			if answer := asks(alice, agent, "mine", "How many sales are there?"); !strings.Contains(answer, `"count":3`) {
				t.Errorf("%s, in the same context: %s", agent, answer)
			}
			if answer := asks(alice, agent, "other", "How many sales are there?"); !strings.Contains(answer, "there is no namespace that you can read") {
				t.Errorf("%s, in another context: %s", agent, answer)
			}
			// A context of the same name, and its id, are bob's own.
			for _, context := range []string{"mine", e2etest.Field(answer, "contextId")} {
				if answer := asks(bob, agent, context, "How many sales are there?"); strings.Contains(answer, `"count":3`) || strings.Contains(answer, "amount") {
					t.Errorf("%s, another user: %s", agent, answer)
				}
			}
		}

		// It is in no list, and no namespace has it.
		alice.NewDataset("shop", "orders")
		for _, path := range []string{"/data/self", "/data/self/shop", "/data", "/a2a/assistant/extendedAgentCard"} {
			if _, text := p.Call(alice.Token, http.MethodGet, "/api/v1"+path, ""); strings.Contains(text, "sales") {
				t.Errorf("%s: %s", path, text)
			}
		}
		if status := alice.Ask("POST", "/query", e2etest.Object{"username": "self", "namespace": "shop", "query": "SELECT * FROM sales"}, nil); status != http.StatusUnprocessableEntity {
			t.Errorf("a query of it: %d", status)
		}
		// Beside the datasets of a namespace, one of which it hides.
		answer := asks(alice, "nl2ql", "third", "How many orders are there?", rawFile("id\n1\n2\n3\n4\n5\n", "orders.csv"))
		if !strings.Contains(answer, `"count":5`) {
			t.Errorf("of the same name: %s", answer)
		}
		if answer := asks(alice, "nl2ql", "fourth", "How many orders are there?"); !strings.Contains(answer, `"count":2`) {
			t.Errorf("in another context: %s", answer)
		}
		// A later file of the same name takes its place.
		if answer := asks(alice, "nl2ql", "third", "How many orders are there?", rawFile("id\n1\n", "orders.csv")); !strings.Contains(answer, `"count":1`) {
			t.Errorf("attached again: %s", answer)
		}
	})
}

// TestAttachmentFormats attaches files of several formats, and one that cannot be read.
func TestAttachmentFormats(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write([]byte(salesCSV))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for context, test := range map[string]struct {
		question, want string
		part           e2etest.Object
	}{
		"rows":     {"How many items are there?", `"count":2`, e2etest.Object{"data": []e2etest.Object{{"name": "a"}, {"name": "b"}}, "filename": "items"}},
		"units":    {"What is the total price per city?", `"units":{"total_price":"$"}`, rawFile("city,price\nRome,$10\nParis,$20\nRome,$5\n", "sales.csv")},
		"packed":   {"How many sales are there?", `"count":3`, rawFile(packed.String(), "sales.csv.gz")},
		"no name":  {"How many rows does the attachment have?", `"count":3`, e2etest.Object{"raw": rawFile(salesCSV, "")["raw"], "mediaType": "text/csv"}},
		"tables":   {"How many town people are there?", `FROM \"town_people\"`, rawFile(`{"people":[{"name":"x"},{"name":"y"}],"dogs":[{"name":"z"}]}`, "town.json")},
		"damaged":  {"How many sales are there?", `"text":"the attached file cannot be read: sales.xlsx `, rawFile("not a workbook", "sales.xlsx")},
		"old":      {"How many sales are there?", `"code":"ATTACHMENT_REFUSED"`, rawFile("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 W\x00o\x00r\x00k\x00b\x00o\x00o\x00k\x00", "sales.bin")},
		"repeated": {"How many sales are there?", `"count":3`, rawFile(salesCSV, "sales.csv")},
	} {
		t.Run(context, func(t *testing.T) {
			t.Parallel()
			if answer := asks(c, "nl2ql", context, test.question, test.part); !strings.Contains(answer, test.want) {
				t.Errorf("no %s in %s", test.want, answer)
			}
		})
	}
	// By gRPC.
	question := &a2apb.SendMessageRequest{Tenant: "nl2ql", Message: &a2apb.Message{
		MessageId: domain.NewID(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{
			{Content: &a2apb.Part_Text{Text: "How many sales are there?"}},
			{Content: &a2apb.Part_Raw{Raw: []byte(salesCSV)}, Filename: "sales.csv"},
		},
	}}
	answer, err := grpcClient(t, strings.TrimPrefix(p.URL, "http://")).SendMessage(withToken(t, c.Token), question)
	if err != nil || !strings.Contains(answer.String(), `"count"`) {
		t.Errorf("gRPC: %v, %v", answer, err)
	}
}

// TestAttachmentLimit attaches as much as is allowed, and more.
func TestAttachmentLimit(t *testing.T) {
	t.Parallel()
	const limit = 3 << 20
	p := e2etest.Serve(t, t.TempDir(), []string{e2etest.Limits(e2etest.Object{"MaxAttachment": limit, "MaxBody": 65536})})
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	row := "a,b,c,d,e,f,g,h\n"
	file := strings.Repeat(row, limit/len(row))
	if answer := asks(c, "nl2ql", "c", "How many lines are there?", rawFile(file, "lines.csv")); !strings.Contains(answer, `"count":`) {
		t.Errorf("as much as allowed: %.500s", answer)
	}
	if answer := asks(c, "nl2ql", "c", "How many?", rawFile(file+"x", "big.csv")); !strings.Contains(answer, `"code":-32602,"message":"message.parts must have files of at most 3145728 bytes in all`) {
		t.Errorf("one byte more: %.500s", answer)
	}
	for _, path := range []string{"nl2ql", "nl2ql/message:send"} {
		status, answer := c.Post(c.Token, "/api/v1/a2a/"+path, e2etest.ToJSON(e2etest.Object{"message": strings.Repeat("x", 5<<20)}))
		if status != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %.500s", path, status, answer)
		}
	}
	table := slices.Repeat([]e2etest.Object{{"a": 1}}, 20_000)
	if answer := asks(c, "nl2ql", "c", "How many?", e2etest.Object{"data": table}); !strings.Contains(answer, "send a large table as a file") {
		t.Errorf("a large table: %.500s", answer)
	}
	// Nothing else takes as large a body.
	if status, answer := c.Post(c.Token, "/api/v1/query", e2etest.ToJSON(e2etest.Object{"query": strings.Repeat("x", 1<<20)})); status != http.StatusRequestEntityTooLarge {
		t.Errorf("a query: %d %.500s", status, answer)
	}
}

// attachedObjects lists the objects of attachments.
func attachedObjects(t *testing.T, dir string) (files []string) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(dir, "parley-data", "objects"), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && strings.Contains(path, "/attachments/") {
			files = append(files, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// TestAttachmentsAreDeleted deletes a conversation: its file and its rows are gone, those of
// another stay.
func TestAttachmentsAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	clock := filepath.Join(dir, "clock")
	setClock := func(offset string) {
		if err := os.WriteFile(clock, []byte(offset), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	setClock("0s")
	env := []string{e2etest.ClockFile + "=" + clock}
	p := e2etest.Serve(t, dir, env)
	c := e2etest.Client{Process: p, Token: p.Token("alice", "--ttl", "48h")}
	asks(c, "nl2ql", "kept", "How many sales are there?", rawFile(salesCSV, "sales.csv"))
	kept := attachedObjects(t, dir)
	answer := asks(c, "nl2ql", "gone", "How many sales are there?", rawFile(salesCSV, "sales.csv"))
	asks(c, "nl2ql", "gone", "How many sales are there?", rawFile("not a workbook", "sales.xlsx"))
	var list struct{ Conversations []struct{ ID string } }
	c.Ask("GET", "/query/conversations", nil, &list)
	if len(list.Conversations) != 2 || len(kept) != 2 || len(attachedObjects(t, dir)) != 5 {
		t.Fatalf("%d conversations, objects %q of %q: %s", len(list.Conversations), kept, attachedObjects(t, dir), answer)
	}
	if status := c.Ask("DELETE", "/query/conversations/"+list.Conversations[0].ID, nil, nil); status != http.StatusNoContent {
		t.Fatalf("delete: %d", status)
	}
	if answer := asks(c, "nl2ql", "gone", "How many sales are there?"); !strings.Contains(answer, "there is no namespace") {
		t.Errorf("the conversation still has it: %s", answer)
	}
	// Objects stay for queries that may be reading them. Cleanup is due when a server starts.
	p.Signal(syscall.SIGTERM)
	p.Wait()
	for _, offset := range []string{"2h", "4h"} {
		setClock(offset)
		c.Process = e2etest.Serve(t, dir, env)
		e2etest.Eventually(t, func() bool {
			left := attachedObjects(t, dir)
			return len(left) == 1 || offset == "2h" && len(left) < 5
		})
		c.Signal(syscall.SIGTERM)
		c.Wait()
	}
	// The file of what is kept was not needed any more; its rows are.
	if left := attachedObjects(t, dir); len(left) != 1 || !slices.Contains(kept, left[0]) {
		t.Errorf("left: %q", left)
	}
	c.Process = e2etest.Serve(t, dir, env)
	if answer := asks(c, "nl2ql", "kept", "How many sales are there?"); !strings.Contains(answer, `"count":3`) {
		t.Errorf("what was kept: %s", answer)
	}
}
