package connlimit

import (
	"context"
	"log/slog"
	"net"
	"os"
	"syscall"
	"testing"
	"time"
)

// TestAcceptFailures counts descriptors while accepting fails: none is lost, whatever
// the failure, and who comes after it is served.
func TestAcceptFailures(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := newListener(listener.(*net.TCPListener), 4, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = l.Close() })
	spare := l.spare
	l.acceptWithSpare(syscall.ENOBUFS)
	if l.spare != spare {
		t.Error("a failure that has nothing to do with descriptors took another one")
	}
	// There is no connection any more that could be refused.
	l.acceptWithSpare(os.NewSyscallError("accept", syscall.EMFILE))
	if l.spare == nil || l.spare == spare {
		t.Error("no new spare descriptor")
	}
	client, err := net.DialTimeout("tcp", listener.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = client.Close() })
	conn, err := l.Accept()
	if err != nil {
		t.Fatalf("the next connection: %v", err)
	}
	_ = conn.Close()
}
