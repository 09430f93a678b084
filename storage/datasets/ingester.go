package datasets

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"parley/internal/domain"
	"parley/internal/fair"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// IngesterConfig configures an Ingester. The zero value of a field is its default.
type IngesterConfig struct {
	// Memory limits DuckDB in one job, in bytes; 384 MiB by default. The whole process has
	// sandbox.MaxIngestMemory: DuckDB does not count all of its memory.
	Memory int64
	// Threads is the number for one job; two by default.
	Threads int
	// Jobs limits those at once, one user's to all but one of more than two; four by default.
	Jobs int
	// Timeout limits one job; an hour by default.
	Timeout time.Duration
	// Dir is the folder for compiled programs, which workers then need not compile for each
	// job; "" for none.
	Dir string
	// Command says how to run engine.IngestMain in another process: by default this
	// executable with the arguments "worker" and "ingest", and no environment.
	Command func() (path string, args, env []string)
	// Log may be nil.
	Log *slog.Logger
}

// Ingester turns sources into files, each job in a worker process of its own.
type Ingester struct {
	config IngesterConfig
	lanes  lanes
	wait   time.Duration
	warned sync.Once
	// programs is the folder with compiled programs once they are there, compiling says that
	// a job has begun to compile them.
	programs  atomic.Pointer[string]
	compiling atomic.Bool
}

// Admission is how a job is queued.
type Admission struct {
	User string
	// Unbounded jobs wait for a slot without a limit, and are never refused.
	Unbounded bool
	// short jobs do not wait: their caller has the slot for short ingestions. They end with
	// errLong when they exceed a slice of processor time.
	short bool
}

const (
	// jobWait limits the wait of a bounded job: a request waits for it.
	jobWait = 20 * time.Second
	// jobsWaiting limits the queue, userJobsWaiting that of one user.
	jobsWaiting, userJobsWaiting = 512, 64
)

// NewIngester makes an Ingester.
func NewIngester(config IngesterConfig) *Ingester {
	config.Memory = cmp.Or(config.Memory, 384<<20)
	config.Threads = cmp.Or(config.Threads, 2)
	config.Jobs = cmp.Or(config.Jobs, 4)
	config.Timeout = cmp.Or(config.Timeout, time.Hour)
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	if config.Command == nil {
		config.Command = func() (string, []string, []string) { return sandbox.Executable(), []string{"worker", "ingest"}, nil }
	}
	// A small table needs about 0.05 s with the start of its worker, one of 6 MB less than 0.5 s.
	meter := meter{usage: fair.NewUsage(2 * time.Minute), slice: time.Second, timeout: 6 * time.Second, most: 3 * time.Second}
	return &Ingester{config: config, wait: jobWait, lanes: lanes{
		meter: meter,
		usual: fair.New(fair.Config{
			What:  "files to be made",
			Slots: config.Jobs, SlotsPerUser: allButOne(config.Jobs),
			MaxQueued: jobsWaiting, MaxQueuedPerUser: userJobsWaiting, Usage: meter.usage,
		}),
		short: fair.New(fair.Config{Slots: 1, SlotsPerUser: 1, Usage: meter.usage, RequestUsage: meter.slice}),
	}}
}

// allButOne limits one user's share of slots: not all, unless there are only two.
func allButOne(slots int) int {
	if slots > 2 {
		return slots - 1
	}
	return slots
}

// Stats returns the state of the queue.
func (i *Ingester) Stats() fair.Stats { return i.lanes.usual.Stats() }

// Close removes what was compiled for workers, when none runs any more.
func (i *Ingester) Close() {
	if dir := i.programs.Swap(nil); dir != nil {
		if err := os.RemoveAll(*dir); err != nil {
			i.config.Log.Warn("work folder not removed", "error", err)
		}
	}
}

// admit calls f when a job may run.
func (i *Ingester) admit(ctx context.Context, admission Admission, f func(ctx context.Context, short bool) error) error {
	if admission.short {
		return f(ctx, true)
	}
	var timeout <-chan time.Time
	var usual *fair.Slot
	if admission.Unbounded {
		usual = i.lanes.usual.AcquireUnbounded(admission.User)
	} else {
		var err error
		if usual, err = i.lanes.usual.Acquire(admission.User); err != nil {
			return err
		}
		timeout = time.After(i.wait)
	}
	return i.lanes.run(ctx, admission.User, usual, timeout, func(ctx context.Context, l lane) error {
		defer l.release()
		return f(ctx, l.short)
	})
}

// Ingest runs a job. Wrong sources are ErrInvalid, a full queue is ErrUnavailable, or
// ErrTooMany for the user's own.
func (i *Ingester) Ingest(ctx context.Context, admission Admission, job ingest.Job) (ingest.Result, error) {
	return i.run(ctx, admission, sandbox.IngestRequest{Sources: job.Sources, Rows: job.Rows, Options: job.Options, Have: job.Have, OutDir: job.OutDir}, job.Progress)
}

// IngestOrList is Ingest for a source of one table. Of a source with several, it returns the
// names, as Parts does, and ingests none.
func (i *Ingester) IngestOrList(ctx context.Context, admission Admission, job ingest.Job) (result ingest.Result, several []string, err error) {
	reply, err := i.ask(ctx, admission, sandbox.IngestRequest{Sources: job.Sources, Options: job.Options, OutDir: job.OutDir, ListSeveral: true}, job.Progress)
	if err != nil || reply.Result == nil {
		return result, reply.Parts, err
	}
	return *reply.Result, nil, nil
}

// Compact merges files, whose rows have these columns, into one.
func (i *Ingester) Compact(ctx context.Context, admission Admission, files []string, columns []domain.Column, outDir string) (ingest.File, error) {
	result, err := i.run(ctx, admission, sandbox.IngestRequest{Files: files, Columns: columns, OutDir: outDir}, nil)
	if err != nil {
		return ingest.File{}, err
	}
	return result.Files[0], nil
}

// Export writes the rows of files, which have these columns, that an SQL condition lets through
// into one file of at most some bytes in a folder, and returns its path.
func (i *Ingester) Export(ctx context.Context, admission Admission, files []string, columns []domain.Column, filter string, as domain.Download, maxBytes int64, outDir string) (string, error) {
	result, err := i.run(ctx, admission, sandbox.IngestRequest{Files: files, Columns: columns, Filter: filter, Export: as, MaxBytes: maxBytes, OutDir: outDir}, nil)
	if err != nil {
		return "", err
	}
	return result.Files[0].Path, nil
}

// Parts returns the names of the tables and texts in a source, as [ingest.Parts] does. It
// works in a folder.
func (i *Ingester) Parts(ctx context.Context, admission Admission, source ingest.Source, dir string) ([]string, error) {
	reply, err := i.ask(ctx, admission, sandbox.IngestRequest{Sources: []ingest.Source{source}, OutDir: dir, ListParts: true}, nil)
	return reply.Parts, err
}

// Text returns the text of a source from which rows can be extracted, as [ingest.Text] does;
// not ok for a source of tables. It works in a folder.
func (i *Ingester) Text(ctx context.Context, admission Admission, source ingest.Source, options domain.IngestOptions, dir string, limit int64) (text string, ok bool, err error) {
	reply, err := i.ask(ctx, admission, sandbox.IngestRequest{Sources: []ingest.Source{source}, Options: options, OutDir: dir, MaxText: limit}, nil)
	if err != nil || reply.Text == "" {
		return "", false, err
	}
	content, err := os.ReadFile(reply.Text)
	if err != nil {
		return "", false, fmt.Errorf("read a text: %w", err)
	}
	return strings.ToValidUTF8(string(content), "\ufffd"), true, nil
}

func (i *Ingester) run(ctx context.Context, admission Admission, request sandbox.IngestRequest, progress func(ingest.Progress)) (ingest.Result, error) {
	reply, err := i.ask(ctx, admission, request, progress)
	if err != nil {
		return ingest.Result{}, err
	}
	return *reply.Result, nil
}

// ask runs a job in a worker, twice if it is too long for a slot for short work.
func (i *Ingester) ask(ctx context.Context, admission Admission, request sandbox.IngestRequest, progress func(ingest.Progress)) (reply sandbox.IngestReply, err error) {
	request.Memory, request.Threads, request.Jobs = i.config.Memory, i.config.Threads, i.config.Jobs+2 // two more are short
	err = i.admit(ctx, admission, func(ctx context.Context, short bool) error {
		reply, err = i.try(ctx, admission.User, short, request, progress)
		return err
	})
	switch {
	case err != nil:
		return sandbox.IngestReply{}, err
	case reply.Refused != "":
		return sandbox.IngestReply{}, domain.Errorf(domain.ErrInvalid, "%s", reply.Refused)
	case isDiskFull(reply.Fault):
		return sandbox.IngestReply{}, fmt.Errorf("make files: %w: %s", syscall.ENOSPC, reply.Fault)
	case reply.Fault != "":
		return sandbox.IngestReply{}, fmt.Errorf("make files: %s", reply.Fault)
	}
	return reply, nil
}

// try runs a job in a worker. If the job is too long for a slot for short work, nothing of it is
// left in its folder.
func (i *Ingester) try(ctx context.Context, user string, short bool, request sandbox.IngestRequest, progress func(ingest.Progress)) (reply sandbox.IngestReply, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, i.config.Timeout,
		domain.Errorf(domain.ErrInvalid, "this took longer than %v; try it in smaller files", i.config.Timeout))
	defer cancel()
	if err := os.MkdirAll(request.OutDir, 0o700); err != nil {
		return reply, fmt.Errorf("make a folder for an ingest worker: %w", err)
	}
	before, err := os.ReadDir(request.OutDir)
	if err != nil {
		return reply, fmt.Errorf("read the folder of an ingest worker: %w", err)
	}
	reply, err = i.start(ctx, user, short, request, i.compiled(ctx, request.Sources), progress)
	if !errors.Is(err, errLong) {
		return reply, err
	}
	after, listed := os.ReadDir(request.OutDir)
	removed := listed
	for _, entry := range after {
		if !slices.ContainsFunc(before, func(e os.DirEntry) bool { return e.Name() == entry.Name() }) {
			removed = errors.Join(removed, os.RemoveAll(filepath.Join(request.OutDir, entry.Name())))
		}
	}
	if removed != nil {
		return reply, fmt.Errorf("empty the folder of an ingest worker: %w", removed)
	}
	return reply, err
}

// start starts a worker for a request, and runs it.
func (i *Ingester) start(ctx context.Context, user string, short bool, request sandbox.IngestRequest, programs string, progress func(ingest.Progress)) (reply sandbox.IngestReply, err error) {
	path, args, env := i.config.Command()
	process, err := sandbox.Start(sandbox.Spec{
		Path: path, Args: args, Dir: request.OutDir, Sources: request.Reads(), Programs: programs,
		// By default the C library keeps freed memory for each thread.
		Env: append([]string{"MALLOC_ARENA_MAX=1", "MALLOC_TRIM_THRESHOLD_=131072", "MALLOC_MMAP_THRESHOLD_=131072"}, env...),
	})
	if err != nil {
		return sandbox.IngestReply{}, err
	}
	i.warn(process.Lacks)
	// Without Landlock another worker may have changed them.
	if !slices.Contains(process.Lacks, "landlock") {
		request.Programs = programs
	}
	if request.Export.Format != "" {
		process.LowerPriority() // other work comes first: a client that downloads waits longer anyway
	}
	err = i.lanes.meter.run(ctx, user, short, process.ProcessorTime, process.LowerPriority, func(ctx context.Context) (err error) {
		reply, err = process.Ingest(ctx, request, progress)
		return err
	})
	return reply, err
}

// compiled returns the folder with compiled programs, "" where there is none. The first job
// with a PDF file compiles them, in a worker that reads no source.
func (i *Ingester) compiled(ctx context.Context, sources []ingest.Source) string {
	if dir := i.programs.Load(); dir != nil {
		return *dir
	}
	if i.config.Dir == "" || !slices.ContainsFunc(sources, isPDF) || !i.compiling.CompareAndSwap(false, true) {
		return ""
	}
	dir, remove, err := makeWorkDir(i.config.Dir, i.config.Log)
	if err == nil {
		// The limit of a short ingestion does not end this: it is for all.
		compiling, cancel := context.WithCancel(context.WithoutCancel(ctx))
		defer cancel()
		defer context.AfterFunc(ctx, func() {
			if !errors.Is(context.Cause(ctx), errLong) {
				cancel()
			}
		})()
		var reply sandbox.IngestReply
		reply, err = i.start(compiling, "", false, sandbox.IngestRequest{Compile: true, OutDir: dir}, "", nil)
		if err == nil && reply.Fault != "" {
			err = errors.New(reply.Fault)
		}
		if err != nil {
			remove()
		}
	}
	if err != nil {
		i.compiling.Store(false)
		i.config.Log.WarnContext(ctx, "PDF reader not compiled", "error", err)
		return ""
	}
	i.programs.Store(&dir)
	return dir
}

func isPDF(source ingest.Source) bool {
	file, err := os.Open(source.Path)
	if err != nil {
		return false
	}
	defer file.Close()
	magic := make([]byte, len("%PDF-"))
	_, err = io.ReadFull(file, magic)
	return err == nil && string(magic) == "%PDF-"
}

// warn logs missing protections, once.
func (i *Ingester) warn(lacks []string) {
	if len(lacks) > 0 {
		i.warned.Do(func() {
			i.config.Log.Warn("ingest workers run without some protections that this system does not allow",
				"missing", strings.Join(lacks, ", "))
		})
	}
}

// isDiskFull reports whether the system's message is about a full disk or a quota.
func isDiskFull(fault string) bool {
	fault = strings.ToLower(fault)
	return strings.Contains(fault, "no space left on device") || strings.Contains(fault, "disk quota exceeded") || strings.Contains(fault, "file too large")
}
