package datasets

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"parley/cmd/parley/e2e/helpers/sqlstoretest"
	"parley/internal/domain"
	"parley/storage/sqlstore"
)

// dirObjects is a folder of objects.
type dirObjects struct {
	Objects
	dir string
}

func (o dirObjects) path(key string) string {
	return filepath.Join(o.dir, strings.ReplaceAll(key, "/", "_"))
}

func (o dirObjects) Put(_ context.Context, key, path string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	return os.WriteFile(o.path(key), content, 0o600)
}

func (o dirObjects) Source(_ context.Context, key, _ string) (string, error) {
	if _, err := os.Stat(o.path(key)); err != nil {
		return "", domain.ErrNotFound
	}
	return o.path(key), nil
}

// attacher asks questions that bring files.
type attacher struct {
	*Datasets
	t       *testing.T
	objects dirObjects
}

func newAttacher(t *testing.T) attacher {
	t.Helper()
	a := attacher{Datasets: newPreview(t, nil), t: t, objects: dirObjects{dir: t.TempDir()}}
	a.config.Records, a.config.Objects = sqlstoretest.SQLite(t), a.objects
	return a
}

// ask returns the id of a run that brings files.
func (a attacher) ask(conversation string, files ...domain.AttachedFile) string {
	a.t.Helper()
	saved, err := a.SaveAttachments(a.t.Context(), ann, conversation, files)
	if err != nil {
		a.t.Fatal(err)
	}
	log := a.config.Records.(*sqlstore.Store)
	start, err := sqlstoretest.Start(a.t.Context(), log, ann, domain.Question{Agent: "nl2ql", ConversationID: conversation, Text: "How many?"})
	if err == nil {
		start.Start.Attachments = saved
		err = sqlstoretest.Append(log, start)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	return start.RunID
}

// names returns the datasets of a conversation, with their rows.
func (a attacher) names(conversation string) string {
	a.t.Helper()
	all, err := a.config.Records.ConversationData(a.t.Context(), ann, conversation)
	if err != nil {
		a.t.Fatal(err)
	}
	var names []string
	for _, d := range all {
		names = append(names, fmt.Sprint(d.Name, " ", d.RowCount))
	}
	return strings.Join(names, ", ")
}

func attachedFile(name, content string) domain.AttachedFile {
	return domain.AttachedFile{Filename: name, Dataset: domain.DatasetName(name), Content: []byte(content)}
}

func TestAttach(t *testing.T) {
	t.Parallel()
	a := newAttacher(t)
	many := func(tables int) string {
		parts := make([]string, tables)
		for i := range parts {
			parts[i] = fmt.Sprintf(`"t%d":[{"n":%d}]`, i, i)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	for conversation, test := range map[string]struct {
		files   []domain.AttachedFile
		want    string
		refused string
	}{
		"one":     {files: []domain.AttachedFile{attachedFile("sales.csv", "a\n1\n2\n")}, want: "sales 2"},
		"several": {files: []domain.AttachedFile{attachedFile("sales.csv", "a\n1\n"), attachedFile("items.json", `[{"b":1}]`)}, want: "sales 1, items 1"},
		"tables":  {files: []domain.AttachedFile{attachedFile("x.json", `{"a b":[{"n":1}],"a_b":[{"n":1},{"n":2}]}`)}, want: "x_a_b 1, x_a_b_2 2"},
		"alike":   {files: []domain.AttachedFile{attachedFile("x.json", `{"a":[{"n":1}],"b":[{"n":1}]}`), attachedFile("x_a.csv", "n\n1\n2\n")}, want: "x_a_2 1, x_b 1, x_a 2"},
		"notes":   {files: []domain.AttachedFile{attachedFile("notes.txt", "A fox.\n\nA dog.\n")}, want: "notes 1"},
		"broken":  {files: []domain.AttachedFile{attachedFile("sales.csv", "a\n1\n"), attachedFile("x.parquet", "PAR1")}, want: "sales 1", refused: "x.parquet"},
		"empty":   {files: []domain.AttachedFile{attachedFile("sales.csv", " \n")}, refused: "sales.csv is empty"},
		"many":    {files: []domain.AttachedFile{attachedFile("x.json", many(21))}, refused: "x.json holds 21 tables, where an attachment may have 20"},
	} {
		t.Run(conversation, func(t *testing.T) {
			t.Parallel()
			runID := a.ask(conversation, test.files...)
			for range 2 { // again, as after a takeover
				err := a.Attach(t.Context(), ann, runID)
				if test.refused == "" && err != nil || test.refused != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), test.refused)) {
					t.Fatalf("got %v, want %s", err, test.refused)
				}
			}
			if got := a.names(conversation); got != test.want {
				t.Errorf("datasets %s, want %s", got, test.want)
			}
			if err := a.Attach(t.Context(), domain.Caller{Username: "bob"}, runID); err != nil {
				t.Errorf("another user: %v", err)
			}
		})
	}
	t.Cleanup(func() {
		if left, _ := os.ReadDir(a.config.Dir); len(left) > 0 {
			t.Errorf("left behind %v", left)
		}
	})
}

// Of two that read the same file, one stores its rows.
func TestAttachAtOnce(t *testing.T) {
	t.Parallel()
	a := newAttacher(t)
	runID := a.ask("c", attachedFile("sales.csv", "a\n1\n2\n"))
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := a.Attach(t.Context(), ann, runID); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if got := a.names("c"); got != "sales 2" {
		t.Errorf("datasets %s", got)
	}
}

// Each process waits in the queue, and starts while others use the processors.
func TestAttachStartsFewWorkers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		file domain.AttachedFile
		want int64
	}{
		"one table":   {attachedFile("sales.csv", "a\n1\n"), 1},
		"a container": {attachedFile("x.json", `{"a":[{"n":1}]}`), 1},
		"two tables":  {attachedFile("x.json", `{"a":[{"n":1}],"b":[{"n":1}]}`), 3},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAttacher(t)
			var started atomic.Int64
			command := a.config.Ingester.config.Command
			a.config.Ingester.config.Command = func() (string, []string, []string) {
				started.Add(1)
				return command()
			}
			if err := a.Attach(t.Context(), ann, a.ask("c", test.file)); err != nil {
				t.Fatal(err)
			}
			if got := started.Load(); got != test.want {
				t.Errorf("%d workers, want %d", got, test.want)
			}
		})
	}
}

// A file that is gone is not left out in silence.
func TestAttachmentIsGone(t *testing.T) {
	t.Parallel()
	a := newAttacher(t)
	runID := a.ask("c", attachedFile("sales.csv", "a\n1\n"))
	files, err := filepath.Glob(filepath.Join(a.objects.dir, "*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v, %v", files, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	if err := a.Attach(t.Context(), ann, runID); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "sales.csv is no longer there") {
		t.Errorf("got %v", err)
	}
}

func TestAttachmentsOfOneConversation(t *testing.T) {
	t.Parallel()
	a := newAttacher(t)
	if _, err := a.Datasets.Datasets(t.Context(), ann, domain.DataScope{ConversationID: "c"}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("nothing to read: %v", err)
	}
	files := make([]domain.AttachedFile, domain.MaxConversationAttachments+1)
	for i := range files {
		files[i] = attachedFile("a.csv", "a\n1\n")
	}
	if _, err := a.SaveAttachments(t.Context(), ann, "c", files); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("too many files: %v", err)
	}
	if left, _ := os.ReadDir(a.objects.dir); len(left) > 0 {
		t.Errorf("stored %v", left)
	}
}
