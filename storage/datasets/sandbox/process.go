package sandbox

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// Spec says how to start a worker.
type Spec struct {
	Path      string
	Args, Env []string
	// Tables is the folder from which a query worker reads; "" is for none.
	Tables string
	// Dir is the folder in which an ingest worker writes, and Sources are the paths
	// that it reads; "" is for a query worker.
	Dir     string
	Sources []string
	// Programs is a folder with compiled programs that an ingest worker reads; "" for none.
	Programs string
	// Unconfined omits the sandbox, for tests of the other isolation layers.
	Unconfined bool
}

// Process is a worker, as the server sees it. It takes one request at a time.
type Process struct {
	PID int
	// Lacks names the protections that the system did not allow.
	Lacks []string

	channel *channel
	out     *bufio.Reader
	crash   stderrTail
	process *os.Process
	ended   chan struct{}
	mu      sync.Mutex
	// exited says that PID may be that of another process, unreserved that it may be so as soon as
	// the worker ends.
	exited, unreserved bool
	// used is the latest known processor time.
	used time.Duration
	// exit is the error of its exit.
	exit error
	// tables is the folder of a query worker, maxMemory the bytes that it may have in memory; 0 is for no
	// limit.
	tables    string
	maxMemory int64
}

// stderrTail keeps the beginning of a crash report, which has the cause.
type stderrTail struct {
	mu  sync.Mutex
	buf []byte
}

func (t *stderrTail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p[:min(len(p), 1<<10-len(t.buf))]...)
	return len(p), nil
}

func (t *stderrTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.ToValidUTF8(t.buf, []byte("?")))
}

// Start starts a worker in its sandbox. It ends with Kill, or with the server's process.
func Start(spec Spec) (*Process, error) {
	p := &Process{ended: make(chan struct{})}
	started := make(chan error, 1)
	onOwnThread(func() {
		// The thread stays restricted and ends with this goroutine. It waits for the
		// worker, which the kernel kills with the thread that started it.
		defer close(p.ended)
		cmd, err := p.start(spec)
		started <- err
		if err == nil {
			p.exit = p.channel.wait(func() error {
				p.waitAndRelease()
				return cmd.Wait()
			}, &p.crash)
		}
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	if !spec.Unconfined {
		p.whileRunning(setOOMScore)
	}
	return p, nil
}

// onOwnThread calls f in a goroutine with a thread of its own, not the main one: a worker
// with the same restrictions as the main thread may read the server's environment in /proc.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if !onMainThread() {
			f()
			return
		}
		// This goroutine occupies the main thread until f has another one.
		locked := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(locked)
			f()
		}()
		<-locked
		runtime.UnlockOSThread()
	}()
}

// attributes are a way to start a process, and the protections that it lacks.
type attributes struct {
	sys   syscall.SysProcAttr
	lacks []string
}

// start starts a worker in the best way that the system allows, from a thread of its own.
func (p *Process) start(spec Spec) (*exec.Cmd, error) {
	var err error
	if p.channel, err = newChannel(); err != nil {
		return nil, err
	}
	if spec.Tables != "" {
		folder, err := openFolder(spec.Tables)
		if err != nil {
			p.channel.close()
			return nil, err
		}
		p.channel.worker = append(p.channel.worker, folder)
	}
	if err := markInherited(); err != nil {
		p.Lacks = []string{"closed descriptors"}
	}
	ways := processAttributes(spec)
	if spec.Unconfined {
		ways = ways[len(ways)-1:]
	} else {
		lacks, err := confine(spec)
		if err != nil {
			p.channel.close()
			return nil, err
		}
		p.Lacks = append(p.Lacks, lacks...)
	}
	cmd, lacks, err := startIn(ways, spec, p.channel)
	if err != nil {
		p.channel.close()
		return nil, err
	}
	p.Lacks = append(p.Lacks, lacks...)
	if !canWaitExit(cmd.Process.Pid) {
		p.Lacks = append(p.Lacks, "memory limit") // see whileRunning
		p.unreserved = true
	}
	p.process, p.PID, p.out, p.tables = cmd.Process, cmd.Process.Pid, bufio.NewReader(p.channel), spec.Tables
	return cmd, nil
}

// startIn starts a process in the first way that the system allows.
func startIn(ways []attributes, spec Spec, channel *channel) (cmd *exec.Cmd, lacks []string, err error) {
	for _, way := range ways {
		cmd = exec.Command(spec.Path, spec.Args...)
		cmd.Args[0] = "parley"
		cmd.Env = append([]string{firstGC}, spec.Env...)
		if spec.Dir == "" {
			cmd.Dir = "/"
		}
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
	return nil, nil, err
}

// notAllowed reports whether the system did not allow a way to start a process.
func notAllowed(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC)
}

// Gone reports whether an error means that the worker has ended.
func Gone(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// wait runs f, which uses the channel. When ctx ends it kills the worker, so that f returns.
func (p *Process) wait(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, func() {
		p.signal()
		// Another process may have a copy of the worker's end.
		_ = p.channel.Close()
	})
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// Kill ends the worker and waits for its end. It may be called again.
func (p *Process) Kill() {
	p.signal()
	<-p.ended
	_ = p.channel.Close()
}

// signal kills a running worker, and whatever it started.
func (p *Process) signal() {
	_ = p.process.Kill()
	p.whileRunning(killGroup)
}

// LowerPriority has other processes run first when all processors are in use. It cannot be
// undone.
func (p *Process) LowerPriority() { p.whileRunning(lowerPriority) }

// ProcessorTime returns the time that a worker has used of all processors. Where the system does
// not tell, it is the elapsed time, from any start, until the worker has ended.
func (p *Process) ProcessorTime() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.unreserved && p.Alive():
		p.used = time.Since(loaded)
	case !p.unreserved && !p.exited:
		p.used = processorTime(p.PID)
	}
	return p.used
}

// loaded is when the elapsed time starts.
var loaded = time.Now()

// whileRunning calls f, unless the worker has ended: another process may then have its PID.
func (p *Process) whileRunning(f func(pid int)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.exited {
		f(p.PID)
	}
}

// waitAndRelease waits for the end of the worker, and ends whatever it started. The PID stays reserved
// until the caller reads the exit status.
func (p *Process) waitAndRelease() {
	reserved := waitExit(p.PID)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.exited = true
	if reserved {
		p.used = processorTime(p.PID)
		killGroup(p.PID)
	}
}

// Alive reports whether the process still runs.
func (p *Process) Alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// CrashReport returns the beginning of the worker's crash report, "" without one.
func (p *Process) CrashReport() string { return p.crash.String() }

// Executable is the running program, also when its file was replaced or is not accessible.
func Executable() string {
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
