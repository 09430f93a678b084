package lake

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/internal/fair"
	"parley/storage"
	"parley/storage/lake/ingest"
	"parley/storage/lake/worker"
)

// IngesterConfig is how files are ingested. The zero value of a field stands for its
// default.
type IngesterConfig struct {
	// Memory is what DuckDB may use for one file, in bytes; 768 MiB by default.
	Memory int64
	// Threads is how many threads it uses; two by default.
	Threads int
	// Jobs is how many run at once; four by default. More wait, and one user's do not
	// take all slots where there are more than two.
	Jobs int
	// Timeout is how long one may take; an hour by default.
	Timeout time.Duration
	// Command says how to run engine.IngestMain in another process: by default this
	// executable with the arguments "worker" and "ingest", and no environment.
	Command func() (path string, args, env []string)
	// Log gets what an operator should know; nil is for nothing.
	Log *slog.Logger
}

// Ingester turns sources into files, each job in a worker process of its own: what a
// source does to DuckDB, it does there.
type Ingester struct {
	config IngesterConfig
	queue  *fair.Queue
	wait   time.Duration
	warned sync.Once
}

// Admission says for whom a job is done.
type Admission struct {
	User string
	// Unbounded is for a job that waits for its slot however long that takes, and is
	// never refused.
	Unbounded bool
}

const (
	// jobWait is how long a job waits that is bounded: somebody waits for it.
	jobWait = 20 * time.Second
	// jobsWaiting is how many may wait, userJobsWaiting how many of one user.
	jobsWaiting, userJobsWaiting = 512, 64
)

// NewIngester makes an Ingester.
func NewIngester(config IngesterConfig) *Ingester {
	config.Memory = cmp.Or(config.Memory, 768<<20)
	config.Threads = cmp.Or(config.Threads, 2)
	config.Jobs = cmp.Or(config.Jobs, 4)
	config.Timeout = cmp.Or(config.Timeout, time.Hour)
	config.Log = cmp.Or(config.Log, slog.New(slog.DiscardHandler))
	if config.Command == nil {
		config.Command = func() (string, []string, []string) { return worker.Executable(), []string{"worker", "ingest"}, nil }
	}
	return &Ingester{config: config, wait: jobWait, queue: fair.New(fair.Config{
		What:  "files to be made",
		Slots: config.Jobs, SlotsPerUser: allButOne(config.Jobs),
		MaxQueued: jobsWaiting, MaxQueuedPerUser: userJobsWaiting,
	})}
}

// allButOne is how many of some slots one user may have: not all, unless there
// are only two.
func allButOne(slots int) int {
	if slots > 2 {
		return slots - 1
	}
	return slots
}

// Stats says how many jobs are done, and how many wait for that.
func (i *Ingester) Stats() fair.Stats { return i.queue.Stats() }

// admit waits for a job's slot.
func (i *Ingester) admit(ctx context.Context, admission Admission) (*fair.Slot, error) {
	if admission.Unbounded {
		slot := i.queue.AcquireUnbounded(admission.User)
		return slot, slot.Wait(ctx)
	}
	slot, err := i.queue.Acquire(admission.User)
	if err != nil {
		return nil, err
	}
	return slot, slot.WaitTimeout(ctx, i.wait)
}

// Ingest does a job. What is wrong with its sources is ErrInvalid. Where too much
// is to be done already it is ErrTooMany, or ErrUnavailable when that is not the
// user's.
func (i *Ingester) Ingest(ctx context.Context, admission Admission, job ingest.Job) (ingest.Result, error) {
	return i.run(ctx, admission, worker.IngestRequest{Sources: job.Sources, Rows: job.Rows, Have: job.Have, OutDir: job.OutDir}, job.Progress)
}

// Compact makes one file of some, whose rows have these columns.
func (i *Ingester) Compact(ctx context.Context, admission Admission, files []string, columns []storage.Column, outDir string) (ingest.File, error) {
	result, err := i.run(ctx, admission, worker.IngestRequest{Files: files, Columns: columns, OutDir: outDir}, nil)
	if err != nil {
		return ingest.File{}, err
	}
	return result.Files[0], nil
}

func (i *Ingester) run(ctx context.Context, admission Admission, request worker.IngestRequest, progress func(ingest.Progress)) (ingest.Result, error) {
	slot, err := i.admit(ctx, admission)
	if err != nil {
		return ingest.Result{}, err
	}
	defer slot.Release()
	ctx, cancel := context.WithTimeoutCause(ctx, i.config.Timeout,
		storage.Errorf(storage.ErrInvalid, "this took longer than %v; try it in smaller files", i.config.Timeout))
	defer cancel()
	request.Memory, request.Threads, request.Jobs = i.config.Memory, i.config.Threads, i.config.Jobs
	if err := os.MkdirAll(request.OutDir, 0o700); err != nil {
		return ingest.Result{}, fmt.Errorf("make a folder for an ingest worker: %w", err)
	}
	path, args, env := i.config.Command()
	process, err := worker.Start(worker.Spec{
		Path: path, Args: args, Dir: request.OutDir, Sources: request.Reads(),
		// The C library keeps for each thread what it was given back.
		Env: append([]string{"MALLOC_ARENA_MAX=1", "MALLOC_TRIM_THRESHOLD_=131072", "MALLOC_MMAP_THRESHOLD_=131072"}, env...),
	})
	if err != nil {
		return ingest.Result{}, err
	}
	i.warn(process.Lacks)
	reply, err := process.Ingest(ctx, request, progress)
	switch {
	case err != nil:
		return ingest.Result{}, err
	case reply.Refused != "":
		return ingest.Result{}, storage.Errorf(storage.ErrInvalid, "%s", reply.Refused)
	case isNoRoom(reply.Fault):
		return ingest.Result{}, fmt.Errorf("make files: %w: %s", syscall.ENOSPC, reply.Fault)
	case reply.Fault != "":
		return ingest.Result{}, fmt.Errorf("make files: %s", reply.Fault)
	}
	return *reply.Result, nil
}

// warn says once what protections there are not.
func (i *Ingester) warn(lacks []string) {
	if len(lacks) > 0 {
		i.warned.Do(func() {
			i.config.Log.Warn("ingest workers run without some protections that this system does not allow",
				"missing", strings.Join(lacks, ", "))
		})
	}
}

// isNoRoom reports whether a system's words are those for a disk that is full, or
// of which no more may be used.
func isNoRoom(fault string) bool {
	fault = strings.ToLower(fault)
	return strings.Contains(fault, "no space left on device") || strings.Contains(fault, "disk quota exceeded") || strings.Contains(fault, "file too large")
}
