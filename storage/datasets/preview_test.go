package datasets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// newPreview makes a Datasets that can preview, and needs no records for it.
func newPreview(t *testing.T, extract Extract) *Datasets {
	t.Helper()
	pool, err := NewPool(PoolConfig{Memory: 128 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	d, err := NewDatasets(Config{
		Pool: pool, Ingester: NewIngester(IngesterConfig{}), Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler), Extract: extract,
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func rawRows(rows ...string) []json.RawMessage {
	var raw []json.RawMessage
	for _, row := range rows {
		raw = append(raw, json.RawMessage(row))
	}
	return raw
}

func TestPreview(t *testing.T) {
	t.Parallel()
	extract := func(_ context.Context, piece Piece) ([]json.RawMessage, error) {
		if strings.Contains(piece.Text, "down") {
			return nil, domain.Errorf(domain.ErrUnavailable, "nobody is there")
		}
		return rawRows(fmt.Sprintf(`{"size":%d}`, len(piece.Text))), nil
	}
	d := newPreview(t, extract)
	schema := domain.Definition{Schema: map[string]string{"size": "how long"}}
	for name, test := range map[string]struct {
		rows       []string
		definition domain.Definition
		want       string
	}{
		"none":                  {nil, schema, "[]"},
		"types":                 {[]string{`{"b":1,"a":null}`, `{"a":"2025-01-02","b":1.5}`}, domain.Definition{}, `[{"b":1,"a":null},{"b":1.5,"a":"2025-01-02"}]`},
		"a text about metadata": {[]string{`{"a":"x,\"__metadata\":{}}"}`}, domain.Definition{}, `[{"a":"x,\"__metadata\":{}}"}]`},
		"texts":                 {[]string{`{"a":"one"}`, `{"a":"two"}`}, schema, `[{"size":8}]`},
		"passages":              {[]string{`{"document":"d","passage":1,"text":"one"}`}, schema, `[{"size":3}]`},
		"no texts":              {[]string{`{"a":"one","n":1}`}, schema, `[{"a":"one","n":1}]`},
		"no fields":             {[]string{`{"a":"one"}`}, domain.Definition{}, `[{"a":"one"}]`},
		"fields of passages":    {[]string{`{"text":"one"}`}, domain.Definition{Schema: map[string]string{"text": ""}}, `[{"text":"one"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, err := d.Preview(t.Context(), domain.Caller{Username: "alice"}, rawRows(test.rows...), test.definition)
			if got, _ := json.Marshal(rows); err != nil || string(got) != test.want {
				t.Errorf("%s, %v, want %s", got, err, test.want)
			}
		})
	}
	t.Run("errors", func(t *testing.T) {
		t.Parallel()
		if _, err := d.Preview(t.Context(), domain.Caller{Username: "alice"}, rawRows(`{"a":"down"}`), schema); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "nobody is there") {
			t.Errorf("down: %v", err)
		}
		long := fmt.Sprintf(`{"a":%q}`, strings.Repeat("x", maxPreviewProse+1))
		if _, err := d.Preview(t.Context(), domain.Caller{Username: "alice"}, rawRows(long), schema); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("long: %v", err)
		}
	})
	t.Cleanup(func() {
		if left, err := os.ReadDir(d.config.Dir); err != nil || len(left) > 0 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	})
}

// oneDataset is the records of one dataset.
type oneDataset struct {
	Records
	data domain.DatasetData
}

func (o oneDataset) DatasetDataByID(context.Context, domain.Caller, string) (domain.DatasetData, error) {
	return o.data, nil
}

// TestExtractSources has a long text extracted piece by piece, beside a table
// and a text that holds nothing, and follows how far it is.
func TestExtractSources(t *testing.T) {
	t.Parallel()
	var pieces []Piece
	d := &Datasets{config: Config{
		Ingester: NewIngester(IngesterConfig{}),
		Records: oneDataset{data: domain.DatasetData{Access: domain.Access{Role: domain.Owner, Writable: true}, Dataset: domain.Dataset{
			Definition: domain.Definition{Schema: map[string]string{"n": ""}},
		}}},
		Extract: func(_ context.Context, piece Piece) ([]json.RawMessage, error) {
			if piece.Document == "empty.txt" {
				return nil, nil
			}
			pieces = append(pieces, piece)
			return rawRows(`{"n":1}`, `{"n":2}`), nil
		},
	}}
	dir := t.TempDir()
	write := func(name, text string) ingest.Source {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return ingest.Source{Path: path, Name: name}
	}
	long := strings.Repeat("A paragraph of some length.\n\n", 5000)
	sources := []ingest.Source{write("long.md", long), write("table.csv", "n\n3\n"), write("empty.txt", "nothing")}
	var progress []string
	a := &addition{dir: dir, sources: sources, extracted: func(source int, share float64, rows int64) {
		progress = append(progress, fmt.Sprintf("%d %.2f %d", source, share, rows))
	}}
	if err := d.extractSources(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(progress, ", "); got != "0 0.33 2, 0 0.67 4, 0 1.00 6, 2 1.00 6" {
		t.Errorf("progress: %s", got)
	}
	var whole strings.Builder
	for _, piece := range pieces {
		whole.WriteString(piece.Text)
		if len(piece.Text) > pieceBytes || !strings.HasSuffix(piece.Text, ".\n\n") {
			t.Errorf("a piece of %d bytes", len(piece.Text))
		}
	}
	if whole.String() != long {
		t.Error("the pieces are not the whole")
	}
	if len(a.sources) != 2 || !a.sources[0].Extracted || a.sources[0].Name != "long.md" || a.sources[1] != sources[1] {
		t.Errorf("sources %+v", a.sources)
	}

	// One that is refused costs nothing.
	before := len(pieces)
	for name, text := range map[string]string{"bad.txt": "fine\nneither UTF-8 nor \x81 Windows-1252", "huge.txt": strings.Repeat("x", maxProse+1)} {
		a = &addition{dir: t.TempDir(), sources: []ingest.Source{sources[0], write(name, text)}, extracted: a.extracted}
		if err := d.extractSources(t.Context(), a); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), name) || len(pieces) != before {
			t.Errorf("%s: %v after %d pieces", name, err, len(pieces)-before)
		}
	}
}

// Rows are extracted from the text of documents, which a worker reads.
func TestExtractDocuments(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	ingester, err := documentIngester()
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	d := &Datasets{config: Config{
		Ingester: ingester,
		Records: oneDataset{data: domain.DatasetData{Access: domain.Access{Role: domain.Owner, Writable: true}, Dataset: domain.Dataset{
			Definition: domain.Definition{Schema: map[string]string{"n": ""}},
		}}},
		Extract: func(_ context.Context, piece Piece) ([]json.RawMessage, error) {
			texts = append(texts, piece.Document+": "+strings.TrimSpace(piece.Text))
			return rawRows(`{"n":1}`), nil
		},
	}}
	dir := t.TempDir()
	files := containerFiles(t)
	files["page.htm"] = []byte("<p>Some words.</p>")
	files["texts.zip"] = zipOf(t, "a.txt", "One.", "b.md", "Two.")
	a := &addition{dir: dir, extracted: func(int, float64, int64) {}}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		source := ingest.Source{Path: filepath.Join(dir, name), Name: name}
		if err := os.WriteFile(source.Path, files[name], 0o600); err != nil {
			t.Fatal(err)
		}
		a.sources = append(a.sources, source)
	}
	if err := d.extractSources(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(texts, "\n")
	if want := "page.htm: Some words.\ntext.docx: Hello.\ntext.pdf: Hello world.\ntexts.zip: One.\n\nTwo."; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	for _, source := range a.sources {
		if want := slices.Contains([]string{"page.htm", "text.docx", "text.pdf", "texts.zip"}, source.Name); source.Extracted != want {
			t.Errorf("%+v", source)
		}
	}
}

// A worker that a file has taken over gives no text but its own.
func TestWickedText(t *testing.T) {
	t.Parallel()
	source := filepath.Join(t.TempDir(), "a.txt")
	if err := os.WriteFile(source, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"noise", "text elsewhere", "linked text", "long text"} {
		text, ok, err := compromisedIngester(kind).Text(t.Context(), Admission{User: "alice"}, ingest.Source{Path: source, Name: "a.txt"}, domain.IngestOptions{}, filepath.Join(t.TempDir(), "out"), 1000)
		if !errors.Is(err, sandbox.ErrBadReply) || ok {
			t.Errorf("%s: believed %.100q, %v", kind, text, err)
		}
	}
}
