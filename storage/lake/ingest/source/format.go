package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"unicode/utf8"
)

// headSize is how many bytes of a file decide its format and dialect. The check
// then reads the whole file.
const headSize = 1 << 20

// format is a kind of file, and how to check one.
type format struct {
	// open, unless nil, gives the parts of a container, and nil for a file that is to
	// be checked as one table.
	open  func(r *run, ctx context.Context, in input) (*container, error)
	check func(r *run, ctx context.Context, in input) (*table, error)
	// prose says that rows can be extracted from the text.
	prose bool
	// lines says that the text is made of lines.
	lines bool
}

// input is the decoded content of a source.
type input struct {
	path, name string
	// head is the first headSize bytes.
	head []byte
	// headerRow, unless 0, says that the file is CSV with commas which was written
	// here, and on which line its header is.
	headerRow int
}

var (
	formatCSV = &format{check: checkCSV(",;\t|"), lines: true}
	formatTSV = &format{check: checkCSV("\t"), lines: true}
	// The object of a .json file can hold the tables; those of lines are rows.
	formatJSON      = &format{open: (*run).openJSON, check: (*run).checkJSON}
	formatJSONLines = &format{check: (*run).checkJSON}
	formatParquet   = &format{check: (*run).checkParquet}
	// A ZIP archive can hold files of all formats, so that openContainer opens it.
	formatZip      = &format{}
	formatHTML     = &format{open: (*run).openHTML}
	formatSQLite   = &format{open: (*run).openSQLite}
	formatPDF      = &format{open: (*run).openPDF}
	formatText     = &format{check: checkText(false), prose: true, lines: true}
	formatMarkdown = &format{check: checkText(true), prose: true, lines: true}
)

// archived are the formats that are ZIP archives, by the ends of their names.
var archived = map[string]bool{".xlsx": true, ".xlsm": true, ".docx": true, ".zip": true}

var extensions = map[string]*format{
	".csv": formatCSV,
	".tsv": formatTSV, ".tab": formatTSV,
	".json": formatJSON, ".geojson": formatJSON, ".ndjson": formatJSONLines, ".jsonl": formatJSONLines,
	".parquet": formatParquet,
	".sqlite":  formatSQLite, ".sqlite3": formatSQLite, ".db": formatSQLite,
	".pdf":  formatPDF,
	".html": formatHTML, ".htm": formatHTML, ".xhtml": formatHTML,
	".txt": formatText, ".text": formatText,
	".md": formatMarkdown, ".markdown": formatMarkdown,
}

const knownFormats = "CSV (.csv), TSV (.tsv), JSON (.json, .geojson, .ndjson, .jsonl), Parquet (.parquet), Excel (.xlsx), HTML (.html), Word (.docx), PDF (.pdf), SQLite (.sqlite, .db), text (.txt) and Markdown (.md) can be read, " +
	"each also gzipped (.gz) or in a ZIP archive (.zip)"

// foreign are formats that people send by mistake, by their first bytes.
var foreign = []struct{ magic, what string }{
	{"\x1f\x8b\x08", "gzipped twice"},
	{"\x28\xb5\x2f\xfd", "compressed with zstd"},
	{"BZh", "compressed with bzip2"},
	{"\xfd7zXZ\x00", "compressed with xz"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"},
	{"\x89PNG", "an image"},
	{"\xff\xd8\xff", "an image"},
	{"GIF8", "an image"},
	{"ORC", "an ORC file"},
	{"Obj\x01", "an Avro file"},
	{"ARROW1", "an Arrow file"},
}

// sniff decides the format of a file by its name and the first bytes of its
// decoded content. Containers are known by their content. Of others the name says
// what its owner intends; content that cannot be that is refused. Where the name says
// nothing the content decides, if it is Parquet or JSON.
func sniff(name string, head []byte) (*format, error) {
	named := extensions[strings.ToLower(path.Ext(trimGzip(name)))]
	if len(bytes.TrimSpace(head)) == 0 {
		return nil, refuse("%s is empty", name)
	}
	switch extension := strings.ToLower(path.Ext(trimGzip(name))); {
	case isZip(head):
		return formatZip, nil
	case bytes.HasPrefix(head, []byte(sqliteMagic)):
		return formatSQLite, nil
	case bytes.HasPrefix(head, []byte(pdfMagic)):
		return formatPDF, nil
	case named == formatPDF:
		return nil, refuse("%s is not a PDF file", name)
	case named == formatSQLite:
		return nil, refuse("%s is not an SQLite file", name)
	case bytes.HasPrefix(head, []byte(oleMagic)):
		return nil, refuseOLE(name, extension, head)
	case archived[extension]:
		return nil, refuse("%s is not a %s file, although its name says so", name, extension)
	}
	if bytes.HasPrefix(head, []byte("PAR1")) && (named == formatParquet || named == nil) {
		return formatParquet, nil
	}
	if named == formatParquet {
		return nil, refuse("%s is not a Parquet file", name)
	}
	if err := checkEncoding(name, head); err != nil {
		return nil, err
	}
	holdsJSON := looksLikeJSON(head)
	switch {
	case named == nil && looksLikeHTML(head): // many programs name tables .xls
		return formatHTML, nil
	case named == nil && holdsJSON:
		return formatJSON, nil
	case named == nil:
		return nil, refuse("%s: its name does not tell its format; %s", name, knownFormats)
	case (named == formatCSV || named == formatTSV) && holdsJSON:
		return nil, refuse("%s holds JSON; name it .json", name)
	}
	return named, nil
}

func isZip(head []byte) bool {
	return bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06"))
}

// isContainer reports whether a file is of a binary format that has its own encodings.
func isContainer(head []byte) bool {
	return isZip(head) || bytes.HasPrefix(head, []byte(oleMagic)) || bytes.HasPrefix(head, []byte("PAR1")) ||
		bytes.HasPrefix(head, []byte(sqliteMagic)) || bytes.HasPrefix(head, []byte(pdfMagic))
}

const (
	sqliteMagic = "SQLite format 3\x00"
	pdfMagic    = "%PDF-"
)

// oleMagic opens files of old Office programs, and encrypted ones of new ones.
const oleMagic = "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

func refuseOLE(name, extension string, head []byte) error {
	switch {
	case bytes.Contains(head, []byte("E\x00n\x00c\x00r\x00y\x00p\x00t\x00e\x00d\x00P\x00")), extension == ".xlsx", extension == ".xlsm", extension == ".docx":
		return refuse("%s is encrypted; remove its password (in Excel: File, Info, Protect Workbook), save it and send it again", name)
	case bytes.Contains(head, []byte("W\x00o\x00r\x00k\x00b\x00o\x00o\x00k\x00")), extension == ".xls":
		return refuse("%s is an Excel file of the format before 2007; open it in Excel, save it as .xlsx and send that", name)
	}
	return refuse("%s is an Office document of the format before 2007; save it in the current format (.xlsx, .docx) and send that", name)
}

// checkEncoding refuses what is not text, as far as the head shows it.
func checkEncoding(name string, head []byte) error {
	for _, f := range foreign {
		// Short magic numbers could open a text as well; binary files hold
		// bytes that texts do not.
		if bytes.HasPrefix(head, []byte(f.magic)) && (len(f.magic) > 4 || isBinary(head)) {
			return refuse("%s is %s; %s", name, f.what, knownFormats)
		}
	}
	switch {
	case bytes.HasPrefix(head, []byte("PAR1")):
		return refuse("%s is a Parquet file; name it .parquet", name)
	case bytes.IndexByte(head, 0) >= 0:
		return refuse("%s holds binary data, not text; %s", name, knownFormats)
	}
	return nil
}

func isBinary(head []byte) bool {
	return bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(trimPartialRune(head))
}

// trimPartialRune drops a character at the end that is cut off.
func trimPartialRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// looksLikeHTML reports whether text opens as an HTML page or table.
func looksLikeHTML(head []byte) bool {
	opening := bytes.ToLower(skipBlanks(head)[:min(len(skipBlanks(head)), 20)])
	for _, tag := range []string{"<!doctype html", "<html", "<table"} {
		if bytes.HasPrefix(opening, []byte(tag)) {
			return true
		}
	}
	return false
}

// looksLikeJSON reports whether text opens as a JSON object with a key, an array
// of objects, or one of their empty forms.
func looksLikeJSON(head []byte) bool {
	rest := skipBlanks(head)
	if len(rest) > 0 && rest[0] == '[' {
		rest = skipBlanks(rest[1:])
		if len(rest) > 0 && rest[0] == ']' {
			return len(skipBlanks(rest[1:])) == 0
		}
	}
	if len(rest) == 0 || rest[0] != '{' {
		return false
	}
	rest = skipBlanks(rest[1:])
	return len(rest) > 0 && (rest[0] == '"' || rest[0] == '}')
}

func skipBlanks(b []byte) []byte { return bytes.TrimLeft(b, " \t\r\n") }

func readHead(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer f.Close()
	head, err := io.ReadAll(io.LimitReader(f, headSize))
	if err != nil {
		return nil, fmt.Errorf("read source: %w", err)
	}
	return head, nil
}
