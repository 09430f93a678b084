package source

import (
	"bytes"
	"context"
	"path"
	"strings"
	"unicode/utf8"
)

// HeadSize is how many bytes of a file decide its format and dialect. The check
// then reads the whole file.
const HeadSize = 1 << 20

// Format is a kind of file.
type Format struct {
	// open, unless nil, returns the parts of a container, and nil for a file that is one
	// table.
	open func(r *Reader, ctx context.Context, in Input) (*Container, error)
	// Prose says that rows can be extracted from the text.
	Prose bool
	// Lines says that the text is made of lines.
	Lines bool
}

// The formats of files that are one table or one text.
var (
	CSV = &Format{Lines: true}
	TSV = &Format{Lines: true}
	// The object of a .json file can hold the tables; those of lines are rows.
	JSON      = &Format{open: (*Reader).openJSON}
	JSONLines = &Format{}
	Parquet   = &Format{}
	Text      = &Format{Prose: true, Lines: true}
	Markdown  = &Format{Prose: true, Lines: true}
)

// The formats of containers.
var (
	// A ZIP archive can hold files of all formats, so that Unpack opens it.
	formatZip    = &Format{}
	formatHTML   = &Format{open: (*Reader).openHTML}
	formatSQLite = &Format{open: (*Reader).openSQLite}
	formatPDF    = &Format{open: (*Reader).openPDF}
)

// archived are the formats that are ZIP archives, by the ends of their names.
var archived = map[string]bool{".xlsx": true, ".xlsm": true, ".docx": true, ".zip": true}

var extensions = map[string]*Format{
	".csv": CSV,
	".tsv": TSV, ".tab": TSV,
	".json": JSON, ".geojson": JSON, ".ndjson": JSONLines, ".jsonl": JSONLines,
	".parquet": Parquet,
	".sqlite":  formatSQLite, ".sqlite3": formatSQLite, ".db": formatSQLite,
	".pdf":  formatPDF,
	".html": formatHTML, ".htm": formatHTML, ".xhtml": formatHTML,
	".txt": Text, ".text": Text,
	".md": Markdown, ".markdown": Markdown,
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
// decoded content. Containers are known by their content, and so is JSON that is named as
// CSV. Of others the name says what its owner intends; content that cannot be that is
// refused. Where the name says nothing the content decides, if it is Parquet or JSON.
func sniff(name string, head []byte) (*Format, error) {
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
	if bytes.HasPrefix(head, []byte("PAR1")) && (named == Parquet || named == nil) {
		return Parquet, nil
	}
	if named == Parquet {
		return nil, refuse("%s is not a Parquet file", name)
	}
	if err := checkEncoding(name, head); err != nil {
		return nil, err
	}
	holdsJSON := looksLikeJSON(head)
	switch {
	case named == nil && looksLikeHTML(head): // many programs name tables .xls
		return formatHTML, nil
	case (named == nil || named == CSV || named == TSV) && holdsJSON:
		return JSON, nil
	case named == nil:
		return nil, refuse("%s: its name does not tell its format; %s", name, knownFormats)
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
	return bytes.IndexByte(head, 0) >= 0 || !utf8.Valid(TrimPartialRune(head))
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

// MayBeText reports whether the file of a name may be a text, from which rows can be
// extracted: it does not name a format of tables.
func MayBeText(name string) bool {
	extension := strings.ToLower(path.Ext(trimGzip(name)))
	f := extensions[extension]
	return extension != ".xlsx" && extension != ".xlsm" && (f == nil || f.Prose || f == formatHTML || f == formatPDF)
}
