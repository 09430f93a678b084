package middleware

import (
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
)

// LimitWrites replaces the server's timeout of a response: from here on, each write has its
// own deadline. Call end when the operation is done: it sets the deadline for what the
// server has left to write.
func LimitWrites(c *gin.Context, timeout time.Duration) (end func()) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{})
	w := deadlineWriter{ResponseWriter: c.Writer, timeout: timeout}
	c.Writer = w
	return w.extendDeadline
}

const (
	// writeChunk is how many bytes are written under one deadline.
	writeChunk = 64 << 10
	// maxWriteTimeouts limits the time of one call of Write, however large, as a multiple
	// of the timeout: its bytes are in memory until then.
	maxWriteTimeouts = 20
)

// deadlineWriter disconnects a client that does not read.
type deadlineWriter struct {
	gin.ResponseWriter
	timeout time.Duration
}

// extendDeadline restarts the client's deadline.
func (w deadlineWriter) extendDeadline() { w.setDeadline(time.Now().Add(w.timeout)) }

func (w deadlineWriter) setDeadline(deadline time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(deadline)
}

// Write has a deadline for each chunk, so that a slow client can receive all of it, and one
// for the whole.
func (w deadlineWriter) Write(text []byte) (written int, err error) {
	end := time.Now().Add(maxWriteTimeouts * w.timeout)
	for piece := range slices.Chunk(text, writeChunk) {
		w.setDeadline(time.Now().Add(min(w.timeout, time.Until(end))))
		n, err := w.ResponseWriter.Write(piece)
		if written += n; err != nil {
			return written, err
		}
	}
	return written, nil
}

func (w deadlineWriter) WriteString(text string) (int, error) { return w.Write([]byte(text)) }

func (w deadlineWriter) Flush() {
	w.extendDeadline()
	w.ResponseWriter.Flush()
	// A deadline that passes without a pending write would end an HTTP/2 stream.
	w.setDeadline(time.Time{})
}

// Unwrap lets an http.ResponseController reach the connection.
func (w deadlineWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
