package middleware

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// Limits of reading a request body to discard it: its bytes, the time in all, and the time
// for a chunk.
const (
	maxDrain         = 64 << 20
	drainTimeout     = 30 * time.Second
	drainChunk       = 64 << 10
	drainReadTimeout = 2 * time.Second
)

// DrainBody reads and discards the rest of the body of a refused request. Many clients read
// no response before they have sent everything: they would see a broken connection instead
// of the error.
func DrainBody(c *gin.Context) {
	body := c.Request.Body
	c.Next()
	if c.Writer.Status() < http.StatusBadRequest || !canDrain(c.Request) {
		return
	}
	// The response goes first, for clients that stop sending when they see it.
	control := http.NewResponseController(c.Writer)
	if control.EnableFullDuplex() != nil || control.Flush() != nil {
		return
	}
	end := time.Now().Add(drainTimeout)
	for range maxDrain / drainChunk {
		if control.SetReadDeadline(time.Now().Add(min(drainReadTimeout, time.Until(end)))) != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, body, drainChunk); err != nil {
			return // the end of the body, or a lost connection
		}
	}
}

// LimitRead limits the wait for the rest of a body that was not needed, so that the
// connection can be reused. Not every connection supports it; then the server's own limit applies.
func LimitRead(c *gin.Context) {
	if c.Request.ContentLength != 0 {
		_ = http.NewResponseController(c.Writer).SetReadDeadline(time.Now().Add(drainReadTimeout))
	}
}

// canDrain reports whether the rest of the body must and can be drained. With HTTP/2 it
// need not be; a client that sent Expect: 100-continue waits for the response.
func canDrain(r *http.Request) bool {
	return r.ContentLength != 0 && r.ContentLength <= maxDrain && r.ProtoMajor == 1 && r.Header.Get("Expect") == ""
}
