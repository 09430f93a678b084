package ingest_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xuri/excelize/v2"

	"parley/cmd/parley/e2e/helpers/benchtest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/internal/domain"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// samples are small files of the formats that are read by libraries or unpacked.
func samples(t testing.TB) map[string]string {
	workbook := book(t, func(f *excelize.File) {
		sheet(f, "Sheet1", []any{"Title"}, nil, []any{"a", "b", "c"}, []any{1, "x", 45000}, []any{nil, "y", 45001.5}, []any{3, "z", "#N/A"})
		must(f.MergeCell("Sheet1", "A4", "A5"))
		style(f, "Sheet1", "C4", "C5", "yyyy/mm/dd h:mm")
	})
	return map[string]string{
		"x.xlsx":    workbook,
		"x.docx":    word(t, strings.Repeat(`<w:p><w:pPr><w:pStyle w:val="Heading1"/></w:pPr><w:r><w:t>One</w:t><w:tab/></w:r></w:p><w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc></w:tr></w:tbl>`, 5)),
		"x.html":    `<html><body><h1>T</h1><table><caption>C</caption><tr><th rowspan=2>a<th colspan=2>b<tr><td>1<td>2<tr><td>3<td>4<td>5</table><p>text</body></html>`,
		"x.pdf":     pdf([]string{"Hello world.", "Second line."}, []string{"Page two."}),
		"x.zip":     archive(t, "a.csv", "a,b\n1,2\n", "b.json", `{"x":[{"a":1}]}`, "c.xlsx", workbook),
		"x.db":      database(t, "CREATE TABLE a (b TEXT, c REAL); INSERT INTO a VALUES ('x', 1.5), (NULL, 2); CREATE INDEX i ON a (b); CREATE TABLE d (e); INSERT INTO d VALUES (x'00')"),
		"x.geojson": `{"type":"FeatureCollection","features":[{"type":"Feature","id":1,"properties":{"a":1,"b":null},"geometry":{"type":"Point","coordinates":[1,2]}}]}`,
	}
}

// mutate changes some bytes: it sets, removes, repeats or moves them.
func mutate(random *rand.Rand, content []byte) []byte {
	content = append([]byte(nil), content...)
	for range 1 + random.IntN(4) {
		if len(content) < 2 {
			return content
		}
		at := random.IntN(len(content))
		end := min(len(content), at+1+random.IntN(1+len(content)/8))
		switch random.IntN(6) {
		case 0:
			content[at] = byte(random.Uint32())
		case 1:
			content[at] ^= 1 << random.IntN(8)
		case 2:
			content = append(content[:at], content[end:]...)
		case 3:
			content = append(content[:end:end], content[at:]...)
		case 4:
			copy(content[random.IntN(len(content)):], append([]byte(nil), content[at:end]...))
		case 5:
			content = content[:at]
		}
	}
	return content
}

// mutateEntry changes a file within an archive, so that the change gets past the archive's
// checksums.
func mutateEntry(t *testing.T, random *rand.Rand, content string) string {
	names := []string{"xl/worksheets/sheet1.xml", "xl/workbook.xml", "xl/styles.xml", "xl/sharedStrings.xml", "xl/_rels/workbook.xml.rels", "word/document.xml", "a.csv", "b.json", "c.xlsx"}
	change := map[string]func(string) string{}
	for _, name := range names {
		if strings.Contains(content, name) {
			change[name] = func(text string) string {
				if random.IntN(3) > 0 {
					return text
				}
				return string(mutate(random, []byte(text)))
			}
		}
	}
	return rezip(t, content, change)
}

// mutatedFiles names the sample whose mutations a process of the test reads.
const mutatedFiles = "MUTATED_FILES"

const (
	// maxMutated is the most memory of a process that reads all mutations of a sample.
	maxMutated = 192 << 20
	// compilePDFium is what it takes to compile PDFium before.
	compilePDFium = 320 << 20
)

// TestMutatedFiles reads changed files: each is read or refused, leaves nothing, and takes
// no more memory than others do. Those of each sample are read in a process of their own, whose
// memory is measured.
func TestMutatedFiles(t *testing.T) {
	t.Parallel()
	count := raced(fulltest.Count(25, 150))
	if name := os.Getenv(mutatedFiles); name != "" {
		readMutations(t, name, samples(t)[name], count)
		return
	}
	for name := range samples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			process := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestMutatedFiles$", "-test.v")
			process.Env = append(os.Environ(), mutatedFiles+"="+name)
			out, err := process.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "were read") {
				t.Fatalf("%v: %s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}

func readMutations(t *testing.T, name, sample string, count int) {
	l := setup(t)
	read := 0
	for i := range count {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		content := sample
		if strings.HasPrefix(sample, "PK") && i%2 == 0 {
			content = mutateEntry(t, random, content)
		} else {
			content = string(mutate(random, []byte(content)))
		}
		if l.readsOrRefuses(i, l.file(name, content)) {
			read++
		}
	}
	t.Logf("%d of %d were read", read, count)
	if read == count {
		t.Error("no change was noticed")
	}
	// Its usage as its parent sees it has the memory of the parent, too.
	peak, limit := benchtest.Memory(os.Getpid(), "VmHWM")>>20, int64(maxMutated>>20)
	if name == "x.pdf" {
		limit += compilePDFium >> 20
	}
	t.Logf("%s: %d MiB at most", name, peak)
	if peak > limit && !sandbox.RaceEnabled {
		t.Errorf("%d MiB, where at most %d should be used", peak, limit)
	}
}

// readsOrRefuses checks that a part of a file is read or refused.
func (l *setting) readsOrRefuses(i int, source ingest.Source) (read bool) {
	l.t.Helper()
	var refusal *domain.Error
	work := filepath.Join(l.dir, "parts")
	must(os.MkdirAll(work, 0o755))
	names, err := ingest.Parts(l.t.Context(), source, work)
	if err != nil && !errors.As(err, &refusal) {
		l.t.Errorf("change %d: %v", i, err)
	}
	if left, _ := os.ReadDir(work); len(left) > 0 {
		l.t.Errorf("change %d: %v are left", i, left)
	}
	if len(names) == 0 {
		names = []string{""}
	}
	name := names[i%len(names)]
	_, err = l.run(ingest.Job{Sources: []ingest.Source{source}, Options: domain.IngestOptions{Sheet: name}, MaxUnpacked: 10 << 20})
	if err != nil && !errors.As(err, &refusal) {
		l.t.Errorf("change %d, part %q: %v", i, name, err)
	}
	return err == nil
}
