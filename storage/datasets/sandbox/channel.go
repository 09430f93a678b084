package sandbox

import (
	"encoding/binary"
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

// The descriptors that a worker inherits. 0 to 2 are the null device, since libraries and
// SQL can write to them.
const (
	protocolFD = 3 + iota
	crashFD
	tablesFD
)

// channel connects the server with a worker process: a socket for the protocol, and one for
// the crash report of the Go runtime. Unlike pipes, sockets cannot be opened through
// /proc/self/fd, so that SQL reaches neither.
type channel struct {
	protocol, crash *os.File
	null            *os.File
	// worker are the files that the worker inherits, protocolFD first.
	worker []*os.File
}

// newChannel needs a thread that is not restricted yet.
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
	// A process that starts meanwhile would inherit the descriptors.
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, nil, err
	}
	syscall.CloseOnExec(pair[0])
	syscall.CloseOnExec(pair[1])
	// Only a non-blocking file can be closed while it is read.
	err = syscall.SetNonblock(pair[0], true)
	return os.NewFile(uintptr(pair[0]), "server"), os.NewFile(uintptr(pair[1]), "worker"), err
}

// Read reads from the worker. One that ended with unread requests is io.EOF too.
func (c *channel) Read(p []byte) (int, error) {
	n, err := c.protocol.Read(p)
	if errors.Is(err, syscall.ECONNRESET) {
		err = io.EOF
	}
	return n, err
}

func (c *channel) Write(p []byte) (int, error) { return c.protocol.Write(p) }

// Close closes the protocol's socket, which ends the worker.
func (c *channel) Close() error { return c.protocol.Close() }

func (c *channel) attach(cmd *exec.Cmd) {
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.null, c.null, c.null
	cmd.ExtraFiles = c.worker
}

// closeWorkerEnds closes the server's copies of the worker's files.
func (c *channel) closeWorkerEnds() {
	for _, f := range append(c.worker, c.null) {
		_ = f.Close()
	}
	c.worker = nil
}

// wait waits with exit until the worker has ended, and copies its crash report. What the
// worker has sent can still be read.
func (c *channel) wait(exit func() error, report io.Writer) error {
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		_, _ = io.Copy(report, c.crash)
	}()
	err := exit()
	// Another process may have a copy of the worker's end.
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

// Connect returns a worker process its end of the protocol, and sends crash reports to the
// server.
func Connect() *os.File {
	resetGC()
	crash := os.NewFile(crashFD, "crash")
	_ = debug.SetCrashOutput(crash, debug.CrashOptions{})
	_ = crash.Close()
	syscall.CloseOnExec(protocolFD)
	return os.NewFile(protocolFD, "protocol")
}

// markDescriptors sets close-on-exec on every descriptor, where no system call does.
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

// MaxRequest bounds a request. The largest has tables with many files.
const MaxRequest = 16 << 20

var errFrameTooLarge = errors.New("frame is larger than agreed")

// WriteFrame writes four bytes of length and the payload, in one write.
func WriteFrame(w io.Writer, payload []byte) error {
	buf := make([]byte, 4, 4+len(payload))
	binary.BigEndian.PutUint32(buf, uint32(len(payload)))
	_, err := w.Write(append(buf, payload...))
	return err
}

// ReadFrame reads a frame of at most limit bytes. It allocates as bytes arrive, so that a
// wrong length costs no memory.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > int64(limit) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errFrameTooLarge, size, limit)
	}
	const step = 64 << 10
	buf := make([]byte, 0, min(size, step))
	for int64(len(buf)) < size {
		chunk := min(size-int64(len(buf)), max(step, int64(len(buf))))
		at := len(buf)
		buf = append(buf, make([]byte, chunk)...)
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			return nil, fmt.Errorf("read frame of %d bytes: %w", size, err)
		}
	}
	return buf, nil
}
