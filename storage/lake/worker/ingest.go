package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/storage"
	"parley/storage/lake/ingest"
)

// IngestRequest is what an ingest worker is asked to do: ingest sources, or make one
// file of many.
type IngestRequest struct {
	Memory  int64
	Threads int
	// Jobs is how many may run at once, this one among them.
	Jobs    int
	Sources []ingest.Source
	Rows    string
	Have    []storage.Column
	OutDir  string
	// Files and Columns are for one file of many.
	Files   []string
	Columns []storage.Column
}

// Reads gives the files that the worker reads.
func (r IngestRequest) Reads() []string {
	files := slices.Clone(r.Files)
	for _, source := range r.Sources {
		files = append(files, source.Path)
	}
	if r.Rows != "" {
		files = append(files, r.Rows)
	}
	return files
}

// IngestReply is a line that an ingest worker sends: how far it is, and in the end
// what it made, or why not.
type IngestReply struct {
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
	// MaxReason is as much of a reason as is kept.
	MaxReason = 4 << 10
	// MaxFiles is the most files, maxFileRows the most rows of one.
	MaxFiles    = 10_000
	maxFileRows = 1 << 40
)

// Ingest has an ingest worker do one job, and ends it. What the worker says that it
// made has been checked.
func (p *Process) Ingest(ctx context.Context, request IngestRequest, progress func(ingest.Progress)) (IngestReply, error) {
	var reply IngestReply
	err := p.wait(ctx, func() (err error) {
		reply, err = roundTrip(p.channel, request, progress)
		return err
	})
	if errors.Is(err, io.EOF) {
		// It ends by itself, and how it does is worth knowing.
		_ = p.channel.Close()
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
	}
	p.Kill()
	switch {
	case ctx.Err() != nil:
		return IngestReply{}, context.Cause(ctx)
	case err != nil:
		return IngestReply{}, fmt.Errorf("an ingest worker ended: %w: %v: %s", err, p.exit, p.CrashReport())
	}
	return reply, nil
}

// roundTrip asks a worker and reads its replies until the last. That has been
// checked; io.EOF is for a worker that ended without one.
func roundTrip(worker io.ReadWriter, request IngestRequest, progress func(ingest.Progress)) (IngestReply, error) {
	if err := json.NewEncoder(worker).Encode(request); err != nil {
		return IngestReply{}, fmt.Errorf("ask an ingest worker: %w", err)
	}
	lines := bufio.NewScanner(worker)
	lines.Buffer(nil, maxReply)
	for lines.Scan() {
		var reply IngestReply
		if err := json.Unmarshal(lines.Bytes(), &reply); err != nil {
			return IngestReply{}, fmt.Errorf("%w: %w", ErrBadReply, err)
		}
		if reply.Progress == nil {
			return reply.validate(request)
		}
		if progress != nil {
			progress(*reply.Progress)
		}
	}
	if err := lines.Err(); err != nil {
		return IngestReply{}, fmt.Errorf("%w: %w", ErrBadReply, err)
	}
	return IngestReply{}, io.EOF
}

// validate gives a last reply as far as it can be believed.
func (r IngestReply) validate(request IngestRequest) (IngestReply, error) {
	switch {
	case r.Refused != "" || r.Fault != "":
		return IngestReply{Refused: shortReason(r.Refused), Fault: shortReason(r.Fault)}, nil
	case r.Result == nil:
		return IngestReply{}, fmt.Errorf("%w: it says nothing", ErrBadReply)
	}
	if err := checkResult(request, *r.Result); err != nil {
		return IngestReply{}, fmt.Errorf("%w: %w", ErrBadReply, err)
	}
	return r, nil
}

// shortReason gives the beginning of a reason, as a text that can be stored.
func shortReason(reason string) string {
	reason = strings.ReplaceAll(reason, "\x00", "")
	return strings.ToValidUTF8(reason[:min(len(reason), MaxReason)], "")
}

// checkResult reports what is wrong with what a process says that it made. Its files
// must be there, in its own folder.
func checkResult(request IngestRequest, made ingest.Result) error {
	most := MaxFiles
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
	case file.Rows < 1 || file.Rows > maxFileRows:
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

// ServeIngest is what an ingest worker's process runs: one job. It returns the
// process's exit status when the job is done, or when the server closes the channel:
// then nobody waits for it, and the process must end.
func ServeIngest(do func(IngestRequest, func(ingest.Progress)) IngestReply) int {
	server := Connect()
	var request IngestRequest
	if err := json.NewDecoder(server).Decode(&request); err != nil {
		return 2
	}
	abandoned, done := make(chan struct{}), make(chan error, 1)
	go func() {
		_, _ = io.Copy(io.Discard, server)
		close(abandoned)
	}()
	go func() {
		replies := json.NewEncoder(server)
		reply := do(request, func(p ingest.Progress) { _ = replies.Encode(IngestReply{Progress: &p}) })
		done <- replies.Encode(reply)
	}()
	select {
	case <-abandoned:
		return 0
	case err := <-done:
		if err != nil {
			return 4
		}
		return 0
	}
}
