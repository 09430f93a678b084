package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/storage/datasets/ingest"
)

func TestFramesAreBounded(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := WriteFrame(w, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	if _, err := ReadFrame(r, 99); !errors.Is(err, errFrameTooLarge) {
		t.Error(err)
	}
	if err := WriteFrame(w, nil); err == nil {
		t.Error("wrote to a closed pipe")
	}
}

func FuzzReply(f *testing.F) {
	good, _ := EncodeReply(ReplyHead{}, [][]byte{[]byte(`{"a":1}`)})
	f.Add(good)
	f.Add([]byte{0, 0, 0, 2, '{', '}', 0, 0})
	f.Fuzz(func(t *testing.T, payload []byte) {
		head, rows, err := decodeReply(payload, 10)
		if err == nil && (len(rows) > 10 || len(rows) != head.Rows) {
			t.Errorf("%d rows of %d", len(rows), head.Rows)
		}
	})
}

// Where the system has no sandbox, a worker can make links.
func TestMadeLinks(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := ingest.File{Path: filepath.Join(dir, "part-0001.parquet"), Rows: 1, Bytes: 4, SHA256: strings.Repeat("0", 64)}
	if err := os.WriteFile(file.Path, []byte("rows"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := checkFile(dir, file); err != nil {
		t.Error(err)
	}
	link := filepath.Join(dir, "link.parquet")
	if err := os.Symlink(file.Path, link); err != nil {
		t.Fatal(err)
	}
	if file.Path = link; checkFile(dir, file) == nil {
		t.Error("followed a link")
	}
}

func TestIsType(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"BIGINT", "NULL", "DECIMAL(38,0)", "TIMESTAMP WITH TIME ZONE", "VARCHAR[]", "DOUBLE[3][]", "MAP(VARCHAR, BIGINT[])",
		`STRUCT(a BIGINT, "b ""(c" STRUCT(d DECIMAL(4,1))[])[]`, "STRUCT(a ENUM('x)', 'it''s'))", "UNION(num BIGINT, str VARCHAR)",
	} {
		if !isType(text) {
			t.Errorf("%s is none", text)
		}
	}
	for _, text := range []string{
		"", "BIGINT)", "BIGINT, b BIGINT", "BIGINT; DROP TABLE t", "BIGINT -- x", "BIGINT /* x */", "DECIMAL(3", "BIGINT DEFAULT (SELECT 1)",
		"BIGINT DEFAULT read_text('/etc/passwd')", "STRUCT(a BIGINT))", `STRUCT("a BIGINT)`, "BIGINT\n", "DECIMAL (1)", "MYSTRUCT(a BIGINT)",
	} {
		if isType(text) {
			t.Errorf("%q is one", text)
		}
	}
}
