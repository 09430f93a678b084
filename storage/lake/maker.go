package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"parley/internal/fair"
	"parley/storage"
	"parley/storage/lake/ingest"
)

// MakerConfig is how files are made. The zero value of a field stands for its
// default.
type MakerConfig struct {
	// Memory is what DuckDB may use for one file, in bytes; 768 MiB by default.
	Memory int64
	// Threads is how many threads it uses; two by default.
	Threads int
	// Jobs is how many run at once; four by default. More wait, and one user's do not
	// take all places where there are more than two.
	Jobs int
	// Timeout is how long one may take; an hour by default.
	Timeout time.Duration
	// Command says how to run MakerMain in another process: by default this
	// executable with the arguments "worker" and "make", and no environment.
	Command func() (path string, args, env []string)
	// Log gets what an operator should know; nil is for nothing.
	Log *slog.Logger
}

// Maker turns sources into files, each job in a process of its own: what a
// source does to DuckDB, it does there.
type Maker struct {
	config MakerConfig
	line   *fair.Queue
	wait   time.Duration
	warned sync.Once
}

// Turn says for whom a job is done.
type Turn struct {
	User string
	// Patient is for a job that waits for its turn however long that takes, and is
	// never refused.
	Patient bool
}

const (
	// jobWait is how long a job waits that is not patient: somebody waits for it.
	jobWait = 20 * time.Second
	// jobsWaiting is how many may wait, userJobsWaiting how many of one user.
	jobsWaiting, userJobsWaiting = 512, 64
)

// NewMaker makes a Maker.
func NewMaker(config MakerConfig) *Maker {
	if config.Memory <= 0 {
		config.Memory = 768 << 20
	}
	if config.Threads <= 0 {
		config.Threads = 2
	}
	if config.Command == nil {
		config.Command = func() (string, []string, []string) { return executable(), []string{"worker", "make"}, nil }
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	if config.Jobs <= 0 {
		config.Jobs = 4
	}
	if config.Timeout <= 0 {
		config.Timeout = time.Hour
	}
	return &Maker{config: config, wait: jobWait, line: fair.New(fair.Config{
		What:  "files to be made",
		Slots: config.Jobs, SlotsPerUser: allButOne(config.Jobs),
		MaxQueued: jobsWaiting, MaxQueuedPerUser: userJobsWaiting,
	})}
}

// allButOne is how many of some places one user may have: not all, unless there
// are only two.
func allButOne(places int) int {
	if places > 2 {
		return places - 1
	}
	return places
}

// Turns says how many jobs are done, and how many wait for that.
func (m *Maker) Turns() fair.Stats { return m.line.Stats() }

// admit waits for a job's turn.
func (m *Maker) admit(ctx context.Context, turn Turn) (*fair.Slot, error) {
	if turn.Patient {
		place := m.line.AcquireUnbounded(turn.User)
		return place, place.Wait(ctx)
	}
	place, err := m.line.Acquire(turn.User)
	if err != nil {
		return nil, err
	}
	return place, place.WaitTimeout(ctx, m.wait)
}

// makeRequest is what a process is asked to do: ingest sources, or make one file
// of many.
type makeRequest struct {
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

// Ingest does a job. What is wrong with its sources is ErrInvalid. Where too much
// is to be done already it is ErrTooMany, or ErrUnavailable when that is not the
// user's.
func (m *Maker) Ingest(ctx context.Context, turn Turn, job ingest.Job) (ingest.Result, error) {
	return m.run(ctx, turn, makeRequest{Sources: job.Sources, Rows: job.Rows, Have: job.Have, OutDir: job.OutDir}, job.Progress)
}

// Compact makes one file of some, whose rows have these columns.
func (m *Maker) Compact(ctx context.Context, turn Turn, files []string, columns []storage.Column, outDir string) (ingest.File, error) {
	result, err := m.run(ctx, turn, makeRequest{Files: files, Columns: columns, OutDir: outDir}, nil)
	if err != nil {
		return ingest.File{}, err
	}
	return result.Files[0], nil
}

func (m *Maker) run(ctx context.Context, turn Turn, request makeRequest, progress func(ingest.Progress)) (ingest.Result, error) {
	place, err := m.admit(ctx, turn)
	if err != nil {
		return ingest.Result{}, err
	}
	defer place.Release()
	ctx, cancel := context.WithTimeoutCause(ctx, m.config.Timeout,
		storage.Errorf(storage.ErrInvalid, "this took longer than %v; try it in smaller files", m.config.Timeout))
	defer cancel()
	request.Memory, request.Threads, request.Jobs = m.config.Memory, m.config.Threads, m.config.Jobs
	if err := os.MkdirAll(request.OutDir, 0o700); err != nil {
		return ingest.Result{}, fmt.Errorf("make a folder for a maker: %w", err)
	}
	type outcome struct {
		result ingest.Result
		err    error
	}
	done := make(chan outcome, 1)
	go func() {
		// The thread is restricted for good and never goes back: it ends with this
		// goroutine, and so with the maker.
		runtime.LockOSThread()
		result, err := m.make(ctx, request, progress)
		done <- outcome{result, err}
	}()
	ended := <-done
	return ended.result, ended.err
}

// reads are the files that a maker reads.
func (r makeRequest) reads() []string {
	files := slices.Clone(r.Files)
	for _, source := range r.Sources {
		files = append(files, source.Path)
	}
	if r.Rows != "" {
		files = append(files, r.Rows)
	}
	return files
}

// make does a job in a process that can reach nothing but its files. The calling
// thread must belong to it alone.
func (m *Maker) make(ctx context.Context, request makeRequest, progress func(ingest.Progress)) (ingest.Result, error) {
	var said outcry
	cmd, channel, err := m.start(ctx, request)
	if err != nil {
		return ingest.Result{}, fmt.Errorf("start a maker: %w", err)
	}
	// Another process that has its end of the channel must not delay this.
	defer context.AfterFunc(ctx, func() { _ = channel.Close() })()
	last, err := converse(channel, request, progress)
	_ = channel.Close()
	if !errors.Is(err, io.EOF) {
		killGroup(cmd.Process.Pid) // it has said its last, or what cannot be
	}
	ended := channel.wait(cmd, &said)
	switch {
	case ctx.Err() != nil:
		return ingest.Result{}, context.Cause(ctx)
	case err != nil:
		return ingest.Result{}, fmt.Errorf("a maker ended: %w: %v: %s", err, ended, said.String())
	case last.Refused != "":
		return ingest.Result{}, storage.Errorf(storage.ErrInvalid, "%s", last.Refused)
	case isNoRoom(last.Fault):
		return ingest.Result{}, fmt.Errorf("make files: %w: %s", syscall.ENOSPC, last.Fault)
	case last.Fault != "":
		return ingest.Result{}, fmt.Errorf("make files: %s", last.Fault)
	}
	return *last.Result, nil
}

// start starts a process in the best way that the system allows.
func (m *Maker) start(ctx context.Context, request makeRequest) (*exec.Cmd, *channel, error) {
	channel, err := newChannel()
	if err != nil {
		return nil, nil, err
	}
	path, args, env := m.config.Command()
	missing := closeOnExec()
	lacks, err := confineMaker(path, request.reads(), request.OutDir)
	if err != nil {
		channel.close()
		return nil, nil, err
	}
	missing = append(missing, lacks...)
	cmd, lacks, err := startIn(makerAttributes(), channel, func() *exec.Cmd {
		cmd := exec.CommandContext(ctx, path, args...)
		// The C library keeps for each thread what it was given back.
		cmd.Env = append([]string{"MALLOC_ARENA_MAX=1", "MALLOC_TRIM_THRESHOLD_=131072", "MALLOC_MMAP_THRESHOLD_=131072"}, env...)
		cmd.Cancel = func() error { killGroup(cmd.Process.Pid); return nil }
		return cmd
	})
	if err != nil {
		return nil, nil, err
	}
	m.warn(append(missing, lacks...))
	return cmd, channel, nil
}

// warn says once what walls there are not.
func (m *Maker) warn(lacks []string) {
	if len(lacks) > 0 {
		m.warned.Do(func() {
			m.config.Log.Warn("makers of files run without some protections that this system does not allow",
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
