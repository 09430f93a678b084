package objects

import (
	"context"
	"errors"
	"hash"
	"io"
	"net/http"
	"os"
	"sync"
	"time"

	"parley/storage"
)

// bufferSize is what a part that is coming in takes of memory.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Handler takes the parts that clients send to the addresses of PartURL. It answers
// 200 with the part's ETag, and leaves every other answer to fail, with an error
// that is storage.ErrForbidden for an address that is not or no longer right,
// ErrNotFound for an upload that has ended, ErrInvalid for a part that is not of the
// right size or comes too slowly, ErrTooMany when the user sends too many at once,
// and ErrUnavailable when all users do or it cannot be kept. When the client has gone
// away, it is the error of the request's context.
func (f *Folder) Handler(fail func(w http.ResponseWriter, r *http.Request, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		etag, err := f.servePart(w, r)
		if err != nil {
			fail(w, r, err)
			return
		}
		w.Header().Set("ETag", `"`+etag+`"`)
		w.WriteHeader(http.StatusOK)
	})
}

func (f *Folder) servePart(w http.ResponseWriter, r *http.Request) (string, error) {
	g, err := verify(f.cfg.Secret, r.Method, r.URL.RawQuery, f.cfg.Now())
	if err != nil {
		return "", err
	}
	if r.ContentLength >= 0 && r.ContentLength != g.size {
		return "", wrongSize(g)
	}
	// Nothing of the body is read, and nothing kept for it, before its turn.
	slot, err := f.queue.Acquire(g.turn)
	if err != nil {
		return "", err
	}
	if err := slot.WaitTimeout(r.Context(), f.cfg.QueueTimeout); err != nil {
		return "", err
	}
	defer slot.Release()
	body := &timedBody{body: r.Body, control: http.NewResponseController(w), stall: f.cfg.Stall}
	return f.receive(r.Context(), g, body)
}

// timedBody cuts off a client that takes too long for each bufferSize bytes,
// whatever deadline the server has for whole requests.
type timedBody struct {
	body    io.Reader
	control *http.ResponseController
	stall   time.Duration
	due     int // bytes until the next extension
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.due <= 0 {
		b.due = bufferSize
		b.extend(time.Now().Add(b.stall))
	}
	n, err := b.body.Read(p)
	b.due -= n
	if errors.Is(err, io.EOF) {
		// The server goes on reading, to learn whether the client is still there.
		b.extend(time.Time{})
	}
	return n, err
}

func (b *timedBody) extend(deadline time.Time) {
	// Not every ResponseWriter can; then the server's own deadlines have to do.
	_ = b.control.SetReadDeadline(deadline)
	if !deadline.IsZero() {
		_ = b.control.SetWriteDeadline(deadline.Add(time.Minute)) // for the answer after it
	}
}

// copyPart reads exactly the bytes of a part.
func copyPart(ctx context.Context, file io.Writer, sum hash.Hash, body io.Reader, g grant) error {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	for left := g.size; ; {
		n, err := body.Read(buffer[:])
		if left -= int64(n); left < 0 {
			return wrongSize(g)
		}
		sum.Write(buffer[:n])
		if _, writeErr := file.Write(buffer[:n]); writeErr != nil {
			return failed(ctx, writeErr, "write part %d of %q", g.number, g.upload.Key)
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF) && left == 0:
			return nil
		default:
			return brokenOff(ctx, err, g)
		}
	}
}

// brokenOff says why a part did not come in whole.
func brokenOff(ctx context.Context, err error, g grant) error {
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return storage.Errorf(storage.ErrInvalid, "part %d came in too slowly", g.number)
	case ctx.Err() != nil:
		return failed(ctx, err, "receive part %d of %q", g.number, g.upload.Key)
	default:
		return wrongSize(g)
	}
}

func wrongSize(g grant) error {
	return storage.Errorf(storage.ErrInvalid, "part %d must have exactly %d bytes", g.number, g.size)
}
