package lake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"parley/storage"
	"parley/storage/lake/ingest"
)

// makeReply is a line that a process says: how far it is, and in the end what it
// made, or why not.
type makeReply struct {
	Progress *ingest.Progress `json:",omitempty"`
	Result   *ingest.Result   `json:",omitempty"`
	// Refused is for the source's owner, Fault for the log.
	Refused string `json:",omitempty"`
	Fault   string `json:",omitempty"`
}

// What a source did to a process, the process may do to the server. So a reply
// has bounds, all far beyond what is ever made.
const (
	// maxReply is the longest line.
	maxReply = 4 << 20
	// maxSaid is as much of a reason as is kept.
	maxSaid = 4 << 10
	// maxMade is the most files, maxMadeRows the most rows of one.
	maxMade     = 10_000
	maxMadeRows = 1 << 40
)

// errBadMaker is for a reply that no process of ours gives.
var errBadMaker = errors.New("a maker sent a reply that cannot be")

// converse asks a process and listens until it has said how it ended. What it made
// is sound; io.EOF is for one that ended without a word.
func converse(worker io.ReadWriter, request makeRequest, progress func(ingest.Progress)) (makeReply, error) {
	if err := json.NewEncoder(worker).Encode(request); err != nil {
		return makeReply{}, fmt.Errorf("ask a maker: %w", err)
	}
	lines := bufio.NewScanner(worker)
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		var reply makeReply
		if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
			return makeReply{}, fmt.Errorf("%w: %w", errBadMaker, err)
		}
		if reply.Progress == nil {
			return reply.sound(request)
		}
		if progress != nil {
			progress(*reply.Progress)
		}
	}
	if err := lines.Err(); err != nil {
		return makeReply{}, fmt.Errorf("%w: %w", errBadMaker, err)
	}
	return makeReply{}, io.EOF
}

// sound gives a last reply as far as it can be believed.
func (r makeReply) sound(request makeRequest) (makeReply, error) {
	switch {
	case r.Refused != "" || r.Fault != "":
		return makeReply{Refused: shortReason(r.Refused), Fault: shortReason(r.Fault)}, nil
	case r.Result == nil:
		return makeReply{}, fmt.Errorf("%w: it said nothing", errBadMaker)
	}
	if err := checkMade(request, *r.Result); err != nil {
		return makeReply{}, fmt.Errorf("%w: %w", errBadMaker, err)
	}
	return r, nil
}

// shortReason gives the beginning of a reason, as a text that can be stored.
func shortReason(reason string) string {
	reason = strings.ReplaceAll(reason, "\x00", "")
	return strings.ToValidUTF8(reason[:min(len(reason), maxSaid)], "")
}

// checkMade reports what is wrong with what a process says that it made. Its files
// must be there, in its own folder.
func checkMade(request makeRequest, made ingest.Result) error {
	most := maxMade
	if len(request.Files) > 0 {
		most = 1
	}
	if len(made.Files) < 1 || len(made.Files) > most {
		return fmt.Errorf("%d files, where 1 to %d can be", len(made.Files), most)
	}
	var rows int64
	seen := make(map[string]bool, len(made.Files))
	for _, file := range made.Files {
		if err := checkFile(request.OutDir, file); err != nil {
			return err
		}
		if seen[file.Path] {
			return fmt.Errorf("the file %.200q twice", file.Path)
		}
		seen[file.Path] = true
		rows += file.Rows
	}
	if rows != made.Rows {
		return fmt.Errorf("%d rows, and %d in files", made.Rows, rows)
	}
	return checkColumns(request.Have, made.Columns)
}

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkFile refuses a file that is not right in dir, a regular one and of its size.
// Nothing leads elsewhere then, neither a path nor a link.
func checkFile(dir string, file ingest.File) error {
	if file.Path != filepath.Join(dir, filepath.Base(file.Path)) {
		return fmt.Errorf("the file %.200q, which is not in its folder", file.Path)
	}
	info, err := os.Lstat(file.Path)
	switch {
	case err != nil:
		return fmt.Errorf("a file that cannot be looked at: %w", err)
	case !info.Mode().IsRegular():
		return fmt.Errorf("the file %.200q, which is none: %v", file.Path, info.Mode())
	case info.Size() != file.Bytes:
		return fmt.Errorf("a file of %d bytes, which has %d", file.Bytes, info.Size())
	case file.Rows < 1 || file.Rows > maxMadeRows:
		return fmt.Errorf("a file of %d rows", file.Rows)
	case !sha256Text.MatchString(file.SHA256):
		return fmt.Errorf("the hash %.200q", file.SHA256)
	}
	return nil
}

// checkColumns refuses columns that do not go on from those of before, and types
// that are more than types: they become part of SQL.
func checkColumns(have, columns []storage.Column) error {
	if len(columns) == 0 || len(columns) < len(have) {
		return fmt.Errorf("%d columns, where there were %d", len(columns), len(have))
	}
	for i, column := range columns {
		if i < len(have) && column.Name != have[i].Name {
			return fmt.Errorf("the column %.200q, where there was %.200q", column.Name, have[i].Name)
		}
		if !isType(column.Type) {
			return fmt.Errorf("the type %.200q", column.Type)
		}
	}
	return nil
}

// typeToken is what the name of a type begins with: the start of one that has parts
// or arguments, a field's name, a value, a list's end, a word, or what stands between.
var typeToken = regexp.MustCompile(`^(?:(?:STRUCT|MAP|UNION|ENUM|DECIMAL)\(|"(?:[^"]|"")*"|'(?:[^']|'')*'|\[[0-9]*\]|[A-Za-z0-9_]+|[), ])`)

// isType reports whether a text is the name of a type and, in SQL, nothing beside: no
// parenthesis is for anything but a type's parts, and no part is outside one.
func isType(text string) bool {
	depth := 0
	for rest := text; rest != ""; {
		token := typeToken.FindString(rest)
		switch {
		case token == "", depth == 0 && (token == "," || token == ")"):
			return false
		case token == ")":
			depth--
		case strings.HasSuffix(token, "("):
			depth++
		}
		rest = rest[len(token):]
	}
	return text != "" && depth == 0
}
