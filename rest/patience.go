package rest

import (
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
)

// extendDeadlines lets an operation that has read its body take longer than the
// server's timeouts allow: from here on, each write has a time of its own. What
// extendDeadlines gives is to be called in the end, for what the server has left to
// write.
func (s *Server) extendDeadlines(c *gin.Context) (end func()) {
	// While there is body left, the server does not see the client leave, and has
	// a deadline for reading it.
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(c.Writer, c.Request.Body, s.cfg.MaxBody))
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{})
	w := deadlineWriter{ResponseWriter: c.Writer, timeout: s.cfg.WriteTimeout}
	c.Writer = w
	return w.extendDeadline
}

const (
	// writeChunk is how many bytes a client has the time of one write for.
	writeChunk = 64 << 10
	// maxWriteTimeouts is how many times as long a client has for what is written at
	// once, however large: it is in memory until then.
	maxWriteTimeouts = 20
)

// deadlineWriter cuts off a client that does not take what is written.
type deadlineWriter struct {
	gin.ResponseWriter
	timeout time.Duration
}

// extendDeadline gives the client its time from now on.
func (w deadlineWriter) extendDeadline() { w.setDeadline(time.Now().Add(w.timeout)) }

func (w deadlineWriter) setDeadline(deadline time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(deadline)
}

// Write gives the client its time for each piece: a slow one that reads on gets
// all of it, unless it is too slow for the whole.
func (w deadlineWriter) Write(text []byte) (written int, err error) {
	end := time.Now().Add(maxWriteTimeouts * w.timeout)
	for piece := range slices.Chunk(text, writeChunk) {
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

func (w deadlineWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

func (w deadlineWriter) Flush() {
	w.extendDeadline()
	w.ResponseWriter.Flush()
}

// Unwrap lets an http.ResponseController reach the connection.
func (w deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
