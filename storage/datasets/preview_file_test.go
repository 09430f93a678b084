package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/internal/domain"
	"parley/storage/datasets/sandbox"
)

// oneFile is an object store with one file.
type oneFile struct {
	Objects
	path string
}

func (o oneFile) Source(context.Context, string, string) (string, error) { return o.path, nil }

// previewOf previews a file with this content. It leaves no file behind.
func previewOf(t *testing.T, d *Datasets, name, content string, options domain.IngestOptions) (domain.FilePreview, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "upload")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	d.config.Objects = oneFile{path: path}
	preview, err := d.PreviewFiles(t.Context(), domain.Caller{Username: "alice"}, []domain.UploadFile{{Filename: name}}, domain.PreviewTarget{}, options)
	if left, _ := os.ReadDir(d.config.Dir); len(left) > 0 {
		t.Errorf("%s: left behind %v", name, left)
	}
	return preview, err
}

func TestPreviewFile(t *testing.T) {
	t.Parallel()
	d := newPreview(t, nil)
	var many strings.Builder
	many.WriteString("id,item,note\n")
	for i := range 30 {
		fmt.Fprintf(&many, "%d,plum,\n", i)
	}
	preview, err := previewOf(t, d, "orders.csv", many.String(), domain.IngestOptions{})
	if err != nil || len(preview.Tables) != 1 {
		t.Fatalf("%+v, %v", preview, err)
	}
	table := preview.Tables[0]
	if table.Name != "orders" || table.RowCount != 30 || len(table.Rows) != previewRows || string(table.Rows[0]) != `{"id":0,"item":"plum","note":null}` {
		t.Errorf("table %s of %d rows: %s", table.Name, table.RowCount, table.Rows)
	}
	examples, _ := json.Marshal([][]json.RawMessage{table.Columns[0].Examples, table.Columns[1].Examples, table.Columns[2].Examples})
	if string(examples) != `[[0,1,2],["plum"],null]` || table.Columns[0].Type != "BIGINT" {
		t.Errorf("columns %+v, examples %s", table.Columns, examples)
	}

	preview, err = previewOf(t, d, "shop.json", `{"orders":[{"id":1},{"id":2}],"items":[{"name":"plum"}],"none":[{}]}`, domain.IngestOptions{})
	var names []string
	for _, table := range preview.Tables {
		names = append(names, fmt.Sprintf("%s %d", table.Name, table.RowCount))
	}
	if got := strings.Join(names, ", "); err != nil || !strings.HasPrefix(got, "orders 2, items 1") {
		t.Errorf("tables %s, %v", got, err)
	}
	preview, err = previewOf(t, d, "shop.json", `{"orders":[{"id":1},{"id":2}],"items":[{"name":"plum"}]}`, domain.IngestOptions{Sheet: "Items"})
	if err != nil || len(preview.Tables) != 1 || string(preview.Tables[0].Rows[0]) != `{"name":"plum"}` {
		t.Errorf("one table: %+v, %v", preview, err)
	}

	if _, err := previewOf(t, d, "bad.csv", "a,b\n1,2\n3\"\n\x00", domain.IngestOptions{}); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "bad.csv") {
		t.Errorf("a file that cannot be read: %v", err)
	}
}

// TestWickedParts has a worker that a file has taken over list parts.
func TestWickedParts(t *testing.T) {
	t.Parallel()
	d := newPreview(t, nil)
	for _, kind := range []string{"noise", "many parts", "long parts"} {
		d.config.Ingester = compromisedIngester(kind)
		if preview, err := previewOf(t, d, "a.csv", "a\n1\n", domain.IngestOptions{}); !errors.Is(err, sandbox.ErrBadReply) {
			t.Errorf("%s: believed %+v, %v", kind, preview, err)
		}
	}
}
