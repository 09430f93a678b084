package rest

import (
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
)

// takeTime lets an operation that has read its body take longer than the
// server's timeouts allow: from here on, each write has a time of its own. What
// takeTime gives is to be called in the end, for what the server has left to
// write.
func (s *Server) takeTime(c *gin.Context) (end func()) {
	// While there is body left, the server does not see the client leave, and has
	// a deadline for reading it.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(c.Writer, c.Request.Body, s.cfg.MaxBody))
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{})
	w := timedWriter{ResponseWriter: c.Writer, timeout: s.cfg.WriteTimeout}
	c.Writer = w
	return w.extend
}

const (
	// timedPiece is how many bytes a client has the time of one write for.
	timedPiece = 64 << 10
	// writeTimeouts is how many times as long a client has for what is written at
	// once, however large: it is in memory until then.
	writeTimeouts = 20
)

// timedWriter cuts off a client that does not take what is written.
type timedWriter struct {
	gin.ResponseWriter
	timeout time.Duration
}

// extend gives the client its time from now on.
func (w timedWriter) extend() { w.setDeadline(time.Now().Add(w.timeout)) }

func (w timedWriter) setDeadline(deadline time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(deadline)
}

// Write gives the client its time for each piece: a slow one that reads on gets
// all of it, unless it is too slow for the whole.
func (w timedWriter) Write(text []byte) (written int, err error) {
	end := time.Now().Add(writeTimeouts * w.timeout)
	for piece := range slices.Chunk(text, timedPiece) {
		w.setDeadline(earlier(time.Now().Add(w.timeout), end))
		n, err := w.ResponseWriter.Write(piece)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

func (w timedWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

func (w timedWriter) Flush() {
	w.extend()
	w.ResponseWriter.Flush()
}

// Unwrap lets an http.ResponseController reach the connection.
func (w timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
