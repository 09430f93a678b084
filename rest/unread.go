package rest

import (
	"io"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// What is taken of a body that nobody reads: so many bytes, in so much time
// together, and no longer for a piece of it.
const (
	maxDrain         = 64 << 20
	drainTimeout     = 30 * time.Second
	drainChunk       = 64 << 10
	drainReadTimeout = 2 * time.Second
)

// drainBody takes what a client still sends of a request that was refused, and
// throws it away. Many clients look for no answer before they have sent everything:
// they would see the connection break, and never why.
func drainBody(c *gin.Context) {
	body := c.Request.Body
	c.Next()
	if c.Writer.Status() < http.StatusBadRequest || !canDrain(c.Request) {
		return
	}
	// The answer goes first, for clients that do look, which need not send the rest.
	control := http.NewResponseController(c.Writer)
	if control.EnableFullDuplex() != nil || control.Flush() != nil {
		return
	}
	end := time.Now().Add(drainTimeout)
	for range maxDrain / drainChunk {
		deadline := time.Now().Add(drainReadTimeout)
		if deadline.After(end) {
			deadline = end
		}
		if control.SetReadDeadline(deadline) != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, body, drainChunk); err != nil {
			return // it is over, or has broken off
		}
	}
}

// canDrain reports whether there may be body left that would be in the way of
// the answer, and can be taken. Over HTTP/2 it is not in the way; a client that has
// asked whether to go on waits for the answer.
func canDrain(r *http.Request) bool {
	return r.ContentLength != 0 && r.ContentLength <= maxDrain && r.ProtoMajor == 1 && r.Header.Get("Expect") == ""
}
