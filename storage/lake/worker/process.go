package worker

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
	// Unconfined starts it without a sandbox. Tests of the other isolation layers
	// set it.
	Unconfined bool
}

// Process is a worker from the server's side. One request is under way at a time.
type Process struct {
	PID int
	// Lacks names the protections that the system did not allow.
	Lacks []string

	channel *channel
	out     *bufio.Reader
	crash   stderrTail
	ended   chan struct{}
	// exit is how it ended.
	exit error
	// tables is the folder of a query worker.
	tables string
}

// stderrTail keeps the first of what a worker's Go runtime reports of a crash, which
// is where the cause is.
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

// Start starts a worker in its sandbox. It ends with the server's process, whatever
// becomes of the caller, who ends it with Kill.
func Start(spec Spec) (*Process, error) {
	p := &Process{ended: make(chan struct{})}
	started := make(chan error, 1)
	onOwnThread(func() {
		// The thread is restricted for good and never goes back: it ends with
		// this goroutine. A worker dies with the thread that started it, so the
		// thread waits for it.
		defer close(p.ended)
		cmd, err := p.start(spec)
		started <- err
		if err == nil {
			p.exit = p.channel.wait(cmd, &p.crash)
		}
	})
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}
	return p, nil
}

// onOwnThread calls f in a goroutine with a thread of its own, never the main one: the
// kernel takes the restrictions of the main thread for those of the process, and so a worker
// that shares them may read the server's environment in /proc.
func onOwnThread(f func()) {
	go func() {
		runtime.LockOSThread()
		if !onMainThread() {
			f()
			return
		}
		// The main thread is taken until f has another one.
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

// attributes are a way to start a process, and what the system denied it.
type attributes struct {
	sys   syscall.SysProcAttr
	lacks []string
}

// start starts a worker in the best way that the system allows. The calling thread
// must belong to it alone.
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
	p.PID, p.out, p.tables = cmd.Process.Pid, bufio.NewReader(p.channel), spec.Tables
	return cmd, nil
}

// startIn starts a process in the first of some ways that the system allows.
func startIn(ways []attributes, spec Spec, channel *channel) (cmd *exec.Cmd, lacks []string, err error) {
	for _, way := range ways {
		cmd = exec.Command(spec.Path, spec.Args...)
		cmd.Args[0] = "parley"
		cmd.Env = append([]string{}, spec.Env...)
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

// notAllowed reports whether a process did not start because of how it was to.
func notAllowed(err error) bool {
	return errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC)
}

// Gone reports whether an error means that the worker is no more.
func Gone(err error) bool {
	// Its end of the channel may be closed before what it last said is read.
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed)
}

// wait runs f, which talks to the worker, and kills the worker when ctx ends first:
// that makes f return.
func (p *Process) wait(ctx context.Context, f func() error) error {
	stop := context.AfterFunc(ctx, func() {
		p.signal()
		// Another process that has the worker's end of the channel must not delay this.
		_ = p.channel.Close()
	})
	err := f()
	if !stop() {
		return context.Cause(ctx)
	}
	return err
}

// Kill ends the worker and waits until it is gone. It may be called again.
func (p *Process) Kill() {
	p.signal()
	<-p.ended
	_ = p.channel.Close()
}

// signal makes the worker end. Of one that has ended, the number may be another
// process's by now.
func (p *Process) signal() {
	if p.Alive() {
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

// CrashReport gives the beginning of what the worker's Go runtime reported of a
// crash, "" where there was none.
func (p *Process) CrashReport() string { return p.crash.String() }

// Executable is the program that runs now, whatever became of its file and whoever
// may look into its folder.
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
