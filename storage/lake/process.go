package lake

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"

	"parley/storage"
)

// attributes are a way to start a process, and what the system denied it.
type attributes struct {
	sys   syscall.SysProcAttr
	lacks []string
}

// process is a worker from the server's side. One request is under way at a
// time.
type process struct {
	key string
	pid int
	// has are the tables whose files it has; nil is for all that its key names. release lets go of the files, and born is how often the
	// pool had let go of files when it was started.
	has     map[string]bool
	release func()
	born    int64
	// uses counts the queries that it has answered, replies what it said to the
	// present one.
	uses, replies int
	in            io.WriteCloser
	out           *bufio.Reader
	// said is what its Go runtime reported of a crash.
	said  outcry
	ended chan struct{}
	// lacks names the protections that the system did not allow.
	lacks []string
}

// outcry keeps the first of what a worker reports of a crash, which is where the
// cause stands.
type outcry struct {
	mu  sync.Mutex
	buf []byte
}

func (o *outcry) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf = append(o.buf, p[:min(len(p), 1<<10-len(o.buf))]...)
	return len(p), nil
}

func (o *outcry) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return string(bytes.ToValidUTF8(o.buf, []byte("?")))
}

// launch says how to start a worker.
type launch struct {
	path    string
	args    []string
	env     []string
	memory  int64
	threads int
	tables  []Table
	// exposed leaves DuckDB's settings off, open the process's own walls off.
	exposed, open bool
}

// startProcess starts a worker and opens DuckDB in it. It ends with the
// server's process, whatever becomes of the caller.
func startProcess(ctx context.Context, l launch) (*process, error) {
	files, tables, err := handOver(l.tables)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	l.tables = tables
	p := &process{ended: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The thread is restricted for good and never goes back: it ends with
		// this goroutine. A worker dies with the thread that started it, so the
		// thread waits for it.
		runtime.LockOSThread()
		defer close(p.ended)
		cmd, channel, err := p.start(l, files)
		started <- err
		if err == nil {
			_ = channel.wait(cmd, &p.said)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	if err := p.open(ctx, l, len(files)); err != nil {
		p.kill()
		if gone(err) {
			// Not the fault of a query, of which there is none yet.
			return nil, fmt.Errorf("%w: a worker ended at its start: %v: %s", storage.ErrUnavailable, err, p.said.String())
		}
		return nil, err
	}
	return p, nil
}

// handOver opens the tables' files for a worker to inherit, and gives the tables
// with the names under which it finds them. So it needs no way to their folders.
func handOver(tables []Table) (files []*os.File, renamed []Table, err error) {
	for _, t := range tables {
		paths := make([]string, len(t.Files))
		for i, path := range t.Files {
			f, err := os.Open(path)
			if err != nil {
				return files, nil, fmt.Errorf("open table %q: %w", t.Name, err)
			}
			paths[i] = inherited(path, firstFileFD+len(files))
			files = append(files, f)
		}
		t.Files = paths
		renamed = append(renamed, t)
	}
	return files, renamed, nil
}

// start starts a worker in the best way that the system allows. The calling
// thread must belong to it alone.
func (p *process) start(l launch, files []*os.File) (*exec.Cmd, *channel, error) {
	channel, err := newChannel()
	if err != nil {
		return nil, nil, err
	}
	p.lacks = closeOnExec()
	ways := processAttributes()
	if l.open {
		ways = ways[len(ways)-1:]
	} else {
		lacks, err := confine(l.path, files)
		if err != nil {
			channel.close()
			return nil, nil, err
		}
		p.lacks = append(p.lacks, lacks...)
	}
	cmd, lacks, err := startIn(ways, channel, func() *exec.Cmd {
		cmd := exec.Command(l.path, l.args...)
		cmd.Env = append([]string{}, l.env...)
		cmd.Dir = "/"
		cmd.ExtraFiles = files
		return cmd
	})
	if err != nil {
		return nil, nil, err
	}
	p.lacks = append(p.lacks, lacks...)
	p.pid, p.in, p.out = cmd.Process.Pid, channel, bufio.NewReader(channel)
	return cmd, channel, nil
}

// startIn starts a process in the first of some ways that the system allows. Of
// the server's files it has its ends of the channel, then the command's.
func startIn(ways []attributes, channel *channel, command func() *exec.Cmd) (cmd *exec.Cmd, lacks []string, err error) {
	for _, way := range ways {
		cmd = command()
		cmd.Args[0] = "parley"
		cmd.SysProcAttr = &way.sys
		channel.attach(cmd)
		if err = cmd.Start(); err == nil {
			channel.closeWorkerEnds()
			return cmd, way.lacks, nil
		}
		if !notAllowed(err) {
			break
		}
	}
	channel.close()
	return nil, nil, err
}

// closeOnExec keeps workers from inheriting what the server was started with,
// and says so where the system does not allow that.
func closeOnExec() (lacks []string) {
	if err := markInherited(); err != nil {
		return []string{"closed descriptors"}
	}
	return nil
}

// notAllowed reports whether a process did not start because of how it was to.
func notAllowed(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC)
}

// open waits for the worker's hello, and has it set its limits and open DuckDB.
func (p *process) open(ctx context.Context, l launch, files int) error {
	var greeting hello
	err := p.wait(ctx, func() error {
		payload, err := readFrame(p.out, 1<<10)
		if err != nil {
			return err
		}
		return json.Unmarshal(payload, &greeting)
	})
	if err != nil {
		return fmt.Errorf("wait for a worker: %w", err)
	}
	open := &openRequest{Tables: l.tables, Memory: l.memory, Threads: l.threads, Exposed: l.exposed}
	if !l.open {
		firstToGo(p.pid)
		open.Limits = &limits{Files: files}
		if !greeting.Race {
			size, err := addressSpace(p.pid)
			if err != nil {
				return fmt.Errorf("limit a worker: %w", err)
			}
			open.Limits.AddressSpace = size + addressBudget(l.memory, l.threads)
		}
	}
	head, _, err := p.ask(ctx, request{Op: opOpen, Open: open})
	if err != nil {
		return fmt.Errorf("open a worker: %w", err)
	}
	if head.Fault != nil {
		return fmt.Errorf("open a worker: %w", head.Fault)
	}
	return nil
}

// addressBudget is the address space that a worker may add to what it starts
// with, when DuckDB may use so much memory: DuckDB does not count all that it
// takes, and stacks and arenas are reserved and hardly used.
func addressBudget(memory int64, threads int) uint64 {
	const reserve = 512 << 20
	return uint64(memory + memory/4 + reserve + int64(threads)*(80<<20))
}

// ask sends a request and waits for its reply. After an error, that of ctx
// among them, the worker is of no more use.
func (p *process) ask(ctx context.Context, req request) (head replyHead, rows []json.RawMessage, err error) {
	payload, err := json.Marshal(req)
	if err != nil {
		return head, nil, fmt.Errorf("encode a request: %w", err)
	}
	// Rows come with four bytes of length each.
	limit := min(maxHead+req.MaxBytes+4*int64(req.MaxRows), math.MaxInt32)
	err = p.wait(ctx, func() error {
		if err := writeFrame(p.in, payload); err != nil {
			return err
		}
		reply, err := readFrame(p.out, int(limit))
		if err != nil {
			return err
		}
		head, rows, err = decodeReply(reply, req.MaxRows)
		return err
	})
	if gone(err) && p.uses > 0 && p.replies == 0 {
		err = errWorkerGone
	}
	p.replies++
	return head, rows, err
}

// wait runs f, which talks to the worker, and kills the worker when ctx ends
// first: that makes f return.
func (p *process) wait(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, p.signal)
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// kill ends the worker and waits until it is gone.
func (p *process) kill() {
	p.signal()
	<-p.ended
	if p.in != nil {
		_ = p.in.Close()
	}
	if p.release != nil {
		p.release()
	}
}

// hasAll reports whether it has the files of all tables.
func (p *process) hasAll(tables []string) bool {
	return p.has == nil || !slices.ContainsFunc(tables, func(name string) bool { return !p.has[name] })
}

// signal makes the worker end. Of one that has ended, the number may be another
// process's by now.
func (p *process) signal() {
	if p.pid > 0 && p.alive() {
		killGroup(p.pid)
	}
}

// alive reports whether the process still runs.
func (p *process) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// executable is the program that runs now, whatever became of its file and
// whoever may look into its folder.
func executable() string {
	const self = "/proc/self/exe"
	if _, err := os.Stat(self); err == nil {
		return self
	}
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
}
