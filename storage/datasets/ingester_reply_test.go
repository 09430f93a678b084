package datasets

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// fileOfWorker makes a file in a worker's folder and describes it, as an honest worker
// would.
func fileOfWorker(request sandbox.IngestRequest) ingest.File {
	path := filepath.Join(request.OutDir, "part-0001.parquet")
	if err := os.WriteFile(path, []byte("rows"), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	return ingest.File{Path: path, Rows: 1, Bytes: 4, SHA256: strings.Repeat("0", 64)}
}

// falseReplies is what workers say that a source has taken over. The source's own path
// is that of a file elsewhere.
var falseReplies = map[string]func(sandbox.IngestRequest, *ingest.Result){
	"no file":    func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files, r.Rows = nil, 0 },
	"elsewhere":  func(q sandbox.IngestRequest, r *ingest.Result) { r.Files[0].Path = elsewhere(q) },
	"no path":    func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files[0].Path = "" },
	"its folder": func(q sandbox.IngestRequest, r *ingest.Result) { r.Files[0].Path = q.OutDir },
	"up and away": func(q sandbox.IngestRequest, r *ingest.Result) {
		r.Files[0].Path = q.OutDir + "/../" + filepath.Base(elsewhere(q))
	},
	"a link": func(q sandbox.IngestRequest, r *ingest.Result) {
		_ = os.Remove(r.Files[0].Path)
		_ = os.Symlink(elsewhere(q), r.Files[0].Path) // where the system lets it
	},
	"a folder": func(_ sandbox.IngestRequest, r *ingest.Result) {
		_ = os.Remove(r.Files[0].Path)
		_ = os.Mkdir(r.Files[0].Path, 0o700)
	},
	"gone":      func(_ sandbox.IngestRequest, r *ingest.Result) { _ = os.Remove(r.Files[0].Path) },
	"a size":    func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files[0].Bytes = 5 },
	"a hash":    func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files[0].SHA256 = "../x" },
	"less":      func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files[0].Rows, r.Rows = -1, -1 },
	"most":      func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files[0].Rows, r.Rows = 1<<62, 1<<62 },
	"more rows": func(_ sandbox.IngestRequest, r *ingest.Result) { r.Rows = 2 },
	"twice":     func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files, r.Rows = append(r.Files, r.Files[0]), 2 },
	"crowded":   func(_ sandbox.IngestRequest, r *ingest.Result) { r.Files = make([]ingest.File, sandbox.MaxFiles+1) },
	"a report": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Columns = make([]domain.ColumnReport, domain.MaxColumns+1)
	},
	"a long report": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Columns = []domain.ColumnReport{{Name: strings.Repeat("x", 2_000), Type: "BIGINT"}}
	},
	"a report's type": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Columns = []domain.ColumnReport{{Name: "id", Type: "<script>"}}
	},
	"less than none": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Columns = []domain.ColumnReport{{Name: "id", Type: "BIGINT", Missing: -1}}
	},
	"many lines": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Columns = []domain.ColumnReport{{Name: "id", Type: "BIGINT", MisfitLines: make([]int64, 2_000)}}
	},
	"many warnings": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Warnings = make([]domain.IngestWarning, 20_000)
	},
	"a long warning": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Report.Warnings = []domain.IngestWarning{{Message: strings.Repeat("x", sandbox.MaxReason+1)}}
	},
	"a profile": func(_ sandbox.IngestRequest, r *ingest.Result) { r.Profile = &domain.Profile{Rows: 2} },
	"a profile's column": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Profile = &domain.Profile{Rows: 1, Columns: []domain.ColumnProfile{{Name: "id", Type: "DATE"}}}
	},
	"a profile's count": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Profile = &domain.Profile{Rows: 1, Columns: []domain.ColumnProfile{{Name: "id", Type: "BIGINT", Missing: 2}}}
	},
	"a profile's value": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Profile = &domain.Profile{Rows: 1, Columns: []domain.ColumnProfile{{Name: "id", Type: "BIGINT", Top: []domain.ValueCount{{Value: strings.Repeat("x", 100)}}}}}
	},
	"a profile's bins": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Profile = &domain.Profile{Rows: 1, Columns: []domain.ColumnProfile{{Name: "id", Type: "BIGINT", Histogram: &domain.Histogram{Counts: make([]int64, 1000)}}}}
	},
	"a profile's sketch": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Profile = &domain.Profile{Rows: 1, Columns: []domain.ColumnProfile{{Name: "id", Type: "BIGINT", Sketch: make(domain.Sketch, 7)}}}
	},
	"a header row": func(_ sandbox.IngestRequest, r *ingest.Result) { r.Report.HeaderRow = -1 },
	"no column":    func(_ sandbox.IngestRequest, r *ingest.Result) { r.Columns = nil },
	"another":      func(_ sandbox.IngestRequest, r *ingest.Result) { r.Columns[0].Name = "other" },
	"SQL": func(_ sandbox.IngestRequest, r *ingest.Result) {
		r.Columns[0].Type = "BIGINT) AS a FROM read_csv('/etc/passwd') --"
	},
}

// elsewhere is a file that the server can read, and is not of the worker's folder.
func elsewhere(request sandbox.IngestRequest) string { return request.Reads()[0] }

// compromised is an ingest worker that a source has taken over.
func compromised(kind string) {
	var request sandbox.IngestRequest
	server := sandbox.Connect()
	if err := json.NewDecoder(server).Decode(&request); err != nil {
		return
	}
	say := func(reply sandbox.IngestReply) { _ = json.NewEncoder(server).Encode(reply) }
	result := ingest.Result{
		Files: []ingest.File{fileOfWorker(request)}, Rows: 1, Columns: []domain.Column{{Name: "id", Type: "BIGINT"}},
	}
	switch kind {
	case "honest":
	case "endless":
		w := bufio.NewWriter(server)
		for err := error(nil); err == nil; {
			_, err = w.WriteString(`{"Result":{"Files":[{},{},{},{}`)
		}
		return
	case "nothing":
		say(sandbox.IngestReply{})
		return
	case "many parts":
		say(sandbox.IngestReply{Parts: make([]string, 20_000)})
		return
	case "long parts":
		say(sandbox.IngestReply{Parts: []string{strings.Repeat("x", 2_000)}})
		return
	case "text elsewhere":
		say(sandbox.IngestReply{Text: elsewhere(request)})
		return
	case "linked text", "long text":
		text := filepath.Join(request.OutDir, "text")
		if kind == "long text" {
			_ = os.WriteFile(text, make([]byte, request.MaxText+1), 0o600)
		} else {
			_ = os.Symlink(elsewhere(request), text) // where the system lets it
		}
		say(sandbox.IngestReply{Text: text})
		return
	case "noise":
		fmt.Fprintln(server, "noise")
		return
	case "long refusal":
		say(sandbox.IngestReply{Refused: "\x00" + strings.Repeat("é", sandbox.MaxReason)})
		return
	default:
		falseReplies[kind](request, &result)
	}
	say(sandbox.IngestReply{Progress: &ingest.Progress{Bytes: -1, Rows: -1}})
	say(sandbox.IngestReply{Result: &result})
	_, _ = io.Copy(io.Discard, server)
	time.Sleep(time.Hour) // it does not go by itself
}

func compromisedIngester(kind string) *Ingester {
	return NewIngester(IngesterConfig{Command: func() (string, []string, []string) { return sandbox.Executable(), []string{"compromised", kind}, nil }})
}

// A job whose worker lies fails, and nothing else does.
func TestCompromisedIngestWorkers(t *testing.T) {
	t.Parallel()
	kinds := []string{"nothing", "noise", "endless"}
	for kind := range falseReplies {
		kinds = append(kinds, kind)
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			made, err := ingestWith(t, compromisedIngester(kind))
			if !errors.Is(err, sandbox.ErrBadReply) || errors.Is(err, domain.ErrInvalid) || len(made.Files) > 0 {
				t.Errorf("believed: %+v, %v", made, err)
			}
		})
	}
	if made, err := ingestWith(t, compromisedIngester("honest")); err != nil || made.Rows != 1 {
		t.Errorf("one that tells the truth: %+v, %v", made, err)
	}
	_, err := ingestWith(t, compromisedIngester("long refusal"))
	if !errors.Is(err, domain.ErrInvalid) || len(err.Error()) > 2*sandbox.MaxReason || strings.Contains(err.Error(), "\x00") {
		t.Errorf("a long reason: %.100v", err)
	}
}

func ingestWith(t *testing.T, ingester *Ingester) (ingest.Result, error) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "a.csv")
	if err := os.WriteFile(path, []byte("id\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return ingester.Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: path, Name: "a.csv"}}, Have: []domain.Column{{Name: "id", Type: "BIGINT"}}, OutDir: filepath.Join(dir, "out")})
}

func TestWickedCompaction(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"no file", "elsewhere", "twice"} {
		dir := t.TempDir()
		path := filepath.Join(dir, "a.parquet")
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := compromisedIngester(kind).Compact(t.Context(), Admission{User: "alice"}, []string{path}, []domain.Column{{Name: "id", Type: "BIGINT"}}, filepath.Join(dir, "out"))
		if !errors.Is(err, sandbox.ErrBadReply) {
			t.Errorf("%s: believed: %+v, %v", kind, file, err)
		}
	}
}

// An export is one file of the worker's folder, and not too large.
func TestWickedExport(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.parquet")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	export := func(kind string, maxBytes int64) (string, error) {
		return compromisedIngester(kind).Export(t.Context(), Admission{User: "alice"}, []string{path}, []domain.Column{{Name: "id", Type: "BIGINT"}}, "",
			domain.Download{Format: domain.DownloadCSV}, maxBytes, filepath.Join(t.TempDir(), "out"))
	}
	for _, kind := range []string{"no file", "elsewhere", "twice", "nothing"} {
		if file, err := export(kind, 1<<20); !errors.Is(err, sandbox.ErrBadReply) {
			t.Errorf("%s: believed: %s, %v", kind, file, err)
		}
	}
	if _, err := export("honest", 1<<20); err != nil {
		t.Errorf("one that tells the truth: %v", err)
	}
	if file, err := export("honest", 0); !errors.Is(err, sandbox.ErrBadReply) {
		t.Errorf("a large file is believed: %s, %v", file, err)
	}
}

// A preview shows no file but those that were made for it, and changes none.
func TestWickedPreview(t *testing.T) {
	t.Parallel()
	d := newPreview(t, nil)
	d.config.Ingester = compromisedIngester("elsewhere")
	if rows, err := d.Preview(t.Context(), domain.Caller{Username: "alice"}, rawRows(`{"id":1}`), domain.Definition{}); !errors.Is(err, sandbox.ErrBadReply) {
		t.Errorf("believed: %s, %v", rows, err)
	}
}

// The names that DuckDB has for types of all kinds are such.
func TestMadeTypes(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	table := parquetTable(t, dir, "nested", `SELECT 1::UTINYINT AS small, 1::HUGEINT AS huge, 1.25::DECIMAL(9,3) AS price, 'x'::ENUM('x', 'it''s)') AS kind,
		[{'a': 1, 'B c': 'x', 'select': [1.5], 'é"(': {'d': DATE '2025-01-01'}}] AS deep, MAP {'k': [TIMESTAMPTZ '2025-01-01 00:00:00+00']} AS map,
		[1, 2]::INTEGER[2] AS pair, {'e': 'x'::ENUM('x', 'y, z')} AS inner_kind, 'b'::BLOB AS blob, uuid() AS id, TIMESTAMP_NS '2025-01-01' AS ns`)
	made, err := NewIngester(IngesterConfig{}).Ingest(t.Context(), Admission{User: "alice"}, ingest.Job{
		Sources: []ingest.Source{{Path: table.Files[0], Name: "nested.parquet"}}, OutDir: filepath.Join(dir, "out")})
	if err != nil || len(made.Columns) != len(table.Columns) {
		t.Errorf("made %+v, %v", made.Columns, err)
	}
}
