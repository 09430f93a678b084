package objects

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/domain"
)

func TestSilentConnectionIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		conn := &watchedConn{ours}
		defer conn.Close()
		start := time.Now()
		_, err := conn.Read(make([]byte, 1))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != idleTimeout {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestSlowRequestKeepsItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		conn := &watchedConn{ours}
		defer conn.Close()
		answered := make(chan error, 1)
		go func() { // waits for the answer from the beginning, as http.Transport does
			_, err := io.ReadFull(conn, make([]byte, 2))
			answered <- err
		}()
		go func() {
			_, _ = io.ReadFull(theirs, make([]byte, 10))
			_, _ = theirs.Write([]byte("ok"))
		}()
		for range 10 {
			time.Sleep(idleTimeout - time.Second) // of the bubble's time
			if _, err := conn.Write([]byte("x")); err != nil {
				t.Fatalf("write: %v", err)
			}
		}
		if err := <-answered; err != nil {
			t.Errorf("the answer did not get through: %v", err)
		}
	})
}

func TestOwnDeadlineIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			callers, ours time.Duration
			want, not     error
		}{
			{time.Hour, time.Minute, domain.ErrUnavailable, context.DeadlineExceeded},
			{time.Minute, time.Hour, context.DeadlineExceeded, domain.ErrUnavailable},
		} {
			callers, cancel := context.WithTimeout(t.Context(), tt.callers)
			defer cancel()
			ours, cancel := context.WithTimeoutCause(callers, tt.ours, errTooLong)
			defer cancel()
			<-ours.Done()
			if err := s3failed(ours, ours.Err(), "ask"); !errors.Is(err, tt.want) || errors.Is(err, tt.not) {
				t.Errorf("got %v, want %v", err, tt.want)
			}
		}
	})
}
