package sandbox

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"parley/internal/domain"
	"parley/storage/datasets/ingest"
)

// IngestRequest asks an ingest worker to ingest sources, to merge or export files, or to list
// the parts or write the text of a source.
type IngestRequest struct {
	Memory  int64
	Threads int
	// Jobs is the number of jobs that may run at once.
	Jobs    int
	Sources []ingest.Source
	Rows    string
	Options domain.IngestOptions
	Have    []domain.Column
	OutDir  string
	// Files, with these columns, are merged into one.
	Files   []string
	Columns []domain.Column
	// Export, if it has a format, writes the rows of the files that Filter lets through into one
	// file of at most MaxBytes instead.
	Export   domain.Download
	Filter   string
	MaxBytes int64
	// ListParts asks for the names of the parts of the first source.
	ListParts bool
	// ListSeveral asks for these names instead of an ingestion if there are several.
	ListSeveral bool
	// MaxText, unless 0, asks for the text of the first source, of at most so many bytes.
	MaxText int64
	// Programs is a folder with compiled programs; with Compile, the worker writes them into
	// OutDir, and does nothing else.
	Programs string
	Compile  bool
}

// Reads returns the files that the worker reads.
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

// IngestReply is a line from an ingest worker: progress, or the result or error at the end.
type IngestReply struct {
	Progress *ingest.Progress `json:",omitempty"`
	Result   *ingest.Result   `json:",omitempty"`
	// Parts are the names of parts, where these were asked for.
	Parts []string `json:",omitempty"`
	// Text is the file with the text, where that was asked for; "" for a source of tables.
	Text string `json:",omitempty"`
	// Refused is for the source's owner, Fault for the log.
	Refused string `json:",omitempty"`
	Fault   string `json:",omitempty"`
}

// Bounds of a reply, far beyond real ones: a hostile source may control the worker.
const (
	// maxReply is the longest line.
	maxReply = 16 << 20
	// MaxReason bounds the bytes of a message.
	MaxReason = 4 << 10
	// MaxFiles bounds the files, maxFileRows the rows of one.
	MaxFiles    = 10_000
	maxFileRows = 1 << 40
)

// outOfMemory is the crash report of a Go program that got no more memory: where it ended, as
// the report does not say why.
var outOfMemory = regexp.MustCompile(`runtime\.throw\(.*\n.*\nruntime\.(\(\*mcache\)\.(allocLarge|refill)|\(\*mheap\)\.grow|sysMap|persistentalloc)`)

// Ingest runs one job in an ingest worker, ends the worker, and checks its result.
func (p *Process) Ingest(ctx context.Context, request IngestRequest, progress func(ingest.Progress)) (IngestReply, error) {
	var reply IngestReply
	exceeded, stop := p.limitMemory(MaxIngestMemory)
	defer stop()
	err := p.wait(ctx, func() (err error) {
		reply, err = roundTrip(p.channel, request, progress)
		return err
	})
	if Gone(err) {
		// The exit status of a worker that ends by itself goes into the error.
		_ = p.channel.Close()
		select {
		case <-p.ended:
		case <-ctx.Done():
		}
	}
	p.Kill()
	lacked := Gone(err) && (exceeded.Load() || outOfMemory.MatchString(p.CrashReport()))
	switch {
	case ctx.Err() != nil:
		return IngestReply{}, context.Cause(ctx)
	case lacked && request.Export.Format != "":
		return IngestReply{Refused: ExportNeedsMemory}, nil
	case lacked && len(request.Files) == 0:
		return IngestReply{Refused: "the file needs more memory than it may use; try it in smaller files"}, nil
	case lacked:
		return IngestReply{}, errors.New("an ingest worker needed more memory than it may use")
	case err != nil:
		return IngestReply{}, fmt.Errorf("an ingest worker ended: %w: %v: %s", err, p.exit, p.CrashReport())
	}
	return reply, nil
}

// ExportNeedsMemory is the refusal of an export that takes more memory than a worker may use.
const ExportNeedsMemory = "the file takes more memory to write than it may use; read the rows in parts with queries"

const (
	// MaxIngestMemory is the most memory of an ingest worker: of the program, Go, DuckDB and PDFium
	// together.
	MaxIngestMemory = 768 << 20
	// memoryMargin is what a worker may allocate between two samples of its memory.
	memoryMargin   = 48 << 20
	sampleInterval = 4 * time.Millisecond
)

// limitMemory kills the worker before it has more than so many bytes in memory, and says so, until
// stop is called. The kernel's limits count address space, of which Go, DuckDB and PDFium reserve
// much more than they use.
func (p *Process) limitMemory(limit int64) (exceeded *atomic.Bool, stop func()) {
	exceeded = new(atomic.Bool)
	if RaceEnabled {
		return exceeded, func() {}
	}
	stopped := make(chan struct{})
	go func() {
		ticker := time.NewTicker(sampleInterval)
		defer ticker.Stop()
		for {
			select {
			case <-p.ended:
				return
			case <-stopped:
				return
			case <-ticker.C:
			}
			if p.resident() > limit-memoryMargin {
				exceeded.Store(true)
				p.signal()
				return
			}
		}
	}()
	return exceeded, sync.OnceFunc(func() { close(stopped) })
}

// resident returns the bytes that a running worker has in memory.
func (p *Process) resident() (bytes int64) {
	p.whileRunning(func(pid int) { bytes = residentMemory(pid) })
	return bytes
}

// roundTrip sends a request and reads the replies up to the last, which it validates. It is
// io.EOF when the worker ended without one.
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

func (r IngestReply) validate(request IngestRequest) (IngestReply, error) {
	switch {
	case r.Refused != "" || r.Fault != "":
		return IngestReply{Refused: shortReason(r.Refused), Fault: shortReason(r.Fault)}, nil
	case request.Compile:
		return IngestReply{}, nil
	case request.ListParts, request.ListSeveral && len(r.Parts) > 1:
		if err := checkParts(r.Parts); err != nil {
			return IngestReply{}, fmt.Errorf("%w: %w", ErrBadReply, err)
		}
		return IngestReply{Parts: r.Parts}, nil
	case request.MaxText > 0:
		if err := checkText(request, r.Text); err != nil {
			return IngestReply{}, fmt.Errorf("%w: %w", ErrBadReply, err)
		}
		return IngestReply{Text: r.Text}, nil
	case r.Result == nil:
		return IngestReply{}, fmt.Errorf("%w: it says nothing", ErrBadReply)
	}
	check := checkResult
	if request.Export.Format != "" {
		check = checkExport
	}
	if err := check(request, *r.Result); err != nil {
		return IngestReply{}, fmt.Errorf("%w: %w", ErrBadReply, err)
	}
	return r, nil
}

// shortReason returns the beginning of a message, as text that databases accept.
func shortReason(reason string) string {
	reason = strings.ReplaceAll(reason, "\x00", "")
	return strings.ToValidUTF8(reason[:min(len(reason), MaxReason)], "")
}

// checkResult checks a worker's result. Its files must exist in its own folder.
func checkResult(request IngestRequest, result ingest.Result) error {
	most := MaxFiles
	if len(request.Files) > 0 {
		most = 1
	}
	if len(result.Files) < 1 || len(result.Files) > most {
		return fmt.Errorf("%d files, where 1 to %d can be", len(result.Files), most)
	}
	var rows int64
	seen := make(map[string]bool, len(result.Files))
	for _, file := range result.Files {
		if err := checkFile(request.OutDir, file); err != nil {
			return err
		}
		if seen[file.Path] {
			return fmt.Errorf("the file %.200q twice", file.Path)
		}
		seen[file.Path] = true
		rows += file.Rows
	}
	if rows != result.Rows {
		return fmt.Errorf("%d rows, and %d in files", result.Rows, rows)
	}
	if err := checkReport(result.Report); err != nil {
		return err
	}
	if err := checkProfile(result); err != nil {
		return err
	}
	return checkColumns(request.Have, result.Columns)
}

// checkExport refuses a result that is not one file in the worker's folder, or too long.
func checkExport(request IngestRequest, result ingest.Result) error {
	if len(result.Files) != 1 {
		return fmt.Errorf("%d files, where 1 can be", len(result.Files))
	}
	size, err := checkRegular(request.OutDir, result.Files[0].Path)
	if err == nil && size > request.MaxBytes {
		err = fmt.Errorf("a file of %d bytes", size)
	}
	return err
}

// checkText refuses a text that is not a file in the worker's folder, or too long.
func checkText(request IngestRequest, path string) error {
	if path == "" {
		return nil
	}
	size, err := checkRegular(request.OutDir, path)
	if err == nil && size > request.MaxText {
		err = fmt.Errorf("a text of %d bytes", size)
	}
	return err
}

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

// checkRegular refuses a file that is not directly in dir, or not regular, so that neither a
// path nor a link leads elsewhere. It returns the size.
func checkRegular(dir, path string) (int64, error) {
	if path != filepath.Join(dir, filepath.Base(path)) {
		return 0, fmt.Errorf("the file %.200q, which is not in its folder", path)
	}
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return 0, fmt.Errorf("a file that cannot be looked at: %w", err)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%.200q is not a regular file: %v", path, info.Mode())
	}
	return info.Size(), nil
}

// checkFile refuses a file that is not in dir, or not as it is said to be.
func checkFile(dir string, file ingest.File) error {
	size, err := checkRegular(dir, file.Path)
	switch {
	case err != nil:
		return err
	case size != file.Bytes:
		return fmt.Errorf("a file of %d bytes, which has %d", file.Bytes, size)
	case file.Rows < 1 || file.Rows > maxFileRows:
		return fmt.Errorf("a file of %d rows", file.Rows)
	case !sha256Text.MatchString(file.SHA256):
		return fmt.Errorf("the hash %.200q", file.SHA256)
	}
	return nil
}

// checkColumns refuses columns that do not continue the earlier ones, and invalid types,
// since types become part of SQL.
func checkColumns(have, columns []domain.Column) error {
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

// typeToken matches a token of a type: the start of a nested one, a field's name, a value,
// the end of a list, a word, or a separator.
var typeToken = regexp.MustCompile(`^(?:(?:STRUCT|MAP|UNION|ENUM|DECIMAL)\(|"(?:[^"]|"")*"|'(?:[^']|'')*'|\[[0-9]*\]|[A-Za-z0-9_]+|[), ])`)

// isType reports whether a text is a type and nothing else: parentheses only hold the parts
// of types, and parts are only in parentheses.
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

// ServeIngest runs one job in an ingest worker's process, and returns the exit status. It
// also returns when the server closes the channel: then the process must end.
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

// checkProfile refuses a profile that an honest worker does not make.
func checkProfile(made ingest.Result) error {
	if len(made.ProfileFault) > MaxReason || !utf8.ValidString(made.ProfileFault) {
		return fmt.Errorf("a fault of %d bytes", len(made.ProfileFault))
	}
	if made.Profile == nil {
		return nil
	}
	if made.Profile.Rows != made.Rows || len(made.Profile.Columns) != len(made.Columns) {
		return fmt.Errorf("a profile of %d rows and %d columns", made.Profile.Rows, len(made.Profile.Columns))
	}
	for i, c := range made.Profile.Columns {
		if c.Name != made.Columns[i].Name || c.Type != made.Columns[i].Type {
			return fmt.Errorf("the profile of a column %.200q of type %.200q", c.Name, c.Type)
		}
		if err := checkColumnProfile(c, made.Rows); err != nil {
			return fmt.Errorf("the profile of the column %.200q: %w", c.Name, err)
		}
	}
	return nil
}

func checkColumnProfile(c domain.ColumnProfile, rows int64) error {
	isCount := func(n int64) bool { return n >= 0 && n <= rows }
	isValueCount := isCount
	if strings.HasSuffix(c.Type, "[]") { // of members of lists
		isValueCount = func(n int64) bool { return n >= 0 && n <= max(rows, ingest.MaxMembers) }
	}
	texts := []string{c.Unit}
	for _, text := range []*string{c.Min, c.Max} {
		if text != nil {
			texts = append(texts, *text)
		}
	}
	for _, v := range c.Top {
		texts = append(texts, v.Value)
		if !isValueCount(v.Count) {
			return fmt.Errorf("the count %d", v.Count)
		}
	}
	for _, text := range texts {
		if utf8.RuneCountInString(text) > domain.MaxProfileValue || !utf8.ValidString(text) {
			return fmt.Errorf("the text %.200q", text)
		}
	}
	if h := c.Histogram; h != nil {
		if len(h.Counts) > domain.HistogramBins || h.To < h.From || math.IsInf(h.To-h.From, 0) {
			return fmt.Errorf("%d bins from %g to %g", len(h.Counts), h.From, h.To)
		}
		for _, count := range h.Counts {
			if !isCount(count) {
				return fmt.Errorf("the count %d", count)
			}
		}
	}
	for _, rank := range c.Sketch {
		if rank > domain.MaxRank {
			return fmt.Errorf("the rank %d", rank)
		}
	}
	switch {
	case !isCount(c.Missing), !isValueCount(c.Distinct), len(c.Top) > domain.MaxTop:
		return fmt.Errorf("%d missing, %d different, %d counted", c.Missing, c.Distinct, len(c.Top))
	case len(c.Sketch) != 0 && len(c.Sketch) != domain.SketchSize:
		return fmt.Errorf("a sketch of %d bytes", len(c.Sketch))
	case c.Length != nil && (c.Length.Min < 0 || c.Length.Max < c.Length.Min):
		return fmt.Errorf("lengths from %d to %d", c.Length.Min, c.Length.Max)
	}
	return nil
}

// Bounds of a report, far beyond real ones.
const (
	maxReportText = 4 * 256
	maxWarnings   = 10_000
	maxLines      = 1_000
	maxParts      = 10_000
)

// checkReport refuses a report that an honest worker does not make. What it says is shown
// to people only.
func checkReport(report domain.IngestReport) error {
	switch {
	case len(report.Columns) > domain.MaxColumns:
		return fmt.Errorf("a report of %d columns", len(report.Columns))
	case len(report.Warnings) > maxWarnings:
		return fmt.Errorf("%d warnings", len(report.Warnings))
	case report.HeaderRow < 0:
		return fmt.Errorf("the header row %d", report.HeaderRow)
	}
	texts := []string{report.Encoding, report.Delimiter}
	for _, c := range report.Columns {
		texts = append(texts, c.Name, c.From, c.Unit)
		if c.Missing < 0 || c.Misfits < 0 || len(c.MisfitLines) > maxLines {
			return fmt.Errorf("%d missing and %d misfits in %d lines", c.Missing, c.Misfits, len(c.MisfitLines))
		}
		if !isType(c.Type) {
			return fmt.Errorf("the type %.200q in a report", c.Type)
		}
	}
	for _, w := range report.Warnings {
		texts = append(texts, w.Column)
		if len(w.Message) > MaxReason || !utf8.ValidString(w.Message) {
			return fmt.Errorf("the warning %.200q", w.Message)
		}
	}
	for _, text := range texts {
		if len(text) > maxReportText || !utf8.ValidString(text) {
			return fmt.Errorf("the text %.200q in a report", text)
		}
	}
	return nil
}

// checkParts refuses names of parts that are too many or too long.
func checkParts(names []string) error {
	if len(names) > maxParts {
		return fmt.Errorf("%d parts", len(names))
	}
	for _, name := range names {
		if len(name) > maxReportText || !utf8.ValidString(name) {
			return fmt.Errorf("the part %.200q", name)
		}
	}
	return nil
}
