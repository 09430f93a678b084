package worker

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"
)

// The descriptors that a worker inherits. Its descriptors 0 to 2 are the null
// device: those are what a library, or SQL, writes to without being asked.
const (
	protocolFD = 3 + iota
	crashFD
	tablesFD
)

// channel connects the server with a worker process: a socket for the protocol,
// and one on which the worker's Go runtime reports a crash. Unlike a pipe, a
// socket cannot be opened through /proc/self/fd, so that SQL can reach neither.
type channel struct {
	protocol, crash *os.File
	// null is the null device, worker are the files that the worker inherits,
	// protocolFD first.
	null   *os.File
	worker []*os.File
}

// newChannel makes a channel. It is for a thread that is not restricted yet.
func newChannel() (*channel, error) {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("connect a worker: %w", err)
	}
	c := &channel{null: null}
	for _, end := range []**os.File{&c.protocol, &c.crash} {
		own, worker, err := socketPair()
		if err != nil {
			c.close()
			return nil, fmt.Errorf("connect a worker: %w", err)
		}
		*end, c.worker = own, append(c.worker, worker)
	}
	return c, nil
}

func socketPair() (own, worker *os.File, err error) {
	// No process may start while the descriptors would be inherited.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	// Only a file that does not block can be closed while it is read.
	err = syscall.SetNonblock(pair[0], true)
	return os.NewFile(uintptr(pair[0]), "server"), os.NewFile(uintptr(pair[1]), "worker"), err
}

// Read reads what the worker sends. A worker that ends with requests unread is
// at its end too.
func (c *channel) Read(p []byte) (int, error) {
	n, err := c.protocol.Read(p)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

func (c *channel) Write(p []byte) (int, error) { return c.protocol.Write(p) }

// Close ends the protocol, and with it a worker that is still there.
func (c *channel) Close() error { return c.protocol.Close() }

// attach has a command start with the worker's files.
func (c *channel) attach(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.null, c.null, c.null
	cmd.ExtraFiles = c.worker
}

// closeWorkerEnds closes the files that the worker has inherited.
func (c *channel) closeWorkerEnds() {
	for _, f := range append(c.worker, c.null) {
		_ = f.Close()
	}
	c.worker = nil
}

// wait waits until the worker has ended, and passes on the report of a crash. What
// the worker has sent can still be read.
func (c *channel) wait(cmd *exec.Cmd, report io.Writer) error {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(report, c.crash)
	}()
	err := cmd.Wait()
	// Another process that has the worker's end must not delay this.
	_ = c.crash.SetReadDeadline(time.Now().Add(time.Second))
	<-copied
	_ = c.crash.Close()
	return err
}

func (c *channel) close() {
	c.closeWorkerEnds()
	for _, f := range []*os.File{c.protocol, c.crash} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// Connect gives a worker process its end of the protocol, and has a crash reported
// to the server.
func Connect() *os.File {
	crash := os.NewFile(crashFD, "crash")
	_ = debug.SetCrashOutput(crash, debug.CrashOptions{})
	_ = crash.Close()
	syscall.CloseOnExec(protocolFD)
	return os.NewFile(protocolFD, "protocol")
}

// markDescriptors has every descriptor of this process closed in programs that
// it starts, where the system has no call for that.
func markDescriptors() error {
	entries, err := os.ReadDir("/dev/fd")
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if fd, err := strconv.Atoi(entry.Name()); err == nil && fd > syscall.Stderr {
			syscall.CloseOnExec(fd)
		}
	}
	return nil
}
