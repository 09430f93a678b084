package objects

import (
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"sync"
	"time"

	"parley/storage"
)

// bufferSize is the memory for each part that is being received.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// Handler receives the parts that clients send to the addresses of PartURL. It answers
// 200 with the part's ETag, and leaves every other answer to fail. The error is
// storage.ErrForbidden for an address that is wrong or has expired, ErrNotFound for an
// upload that has ended, ErrInvalid for a part that has a wrong size or comes too slowly,
// ErrTooMany when the user sends too many at once, and ErrUnavailable when all users do
// or the part cannot be stored. When the client has gone, it is the error of the
// request's context.
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
	// The body is not read, and takes no memory, before there is a slot.
	slot, err := f.queue.Acquire(g.userTag)
	if err != nil {
		return "", err
	}
	if err := slot.WaitTimeout(r.Context(), f.cfg.QueueTimeout); err != nil {
		return "", err
	}
	defer slot.Release()
	return f.receive(r.Context(), g, &timedBody{body: r.Body, control: http.NewResponseController(w), stall: f.cfg.Stall})
}

// timedBody cuts off a client that takes too long for each bufferSize bytes, whatever
// the server's deadline for whole requests.
type timedBody struct {
	body    io.Reader
	control *http.ResponseController
	stall   time.Duration
	due     int // bytes until the next extension
}

func (b *timedBody) Read(p []byte) (int, error) {
	if b.due <= 0 {
		b.due = bufferSize
		// Not every ResponseWriter has deadlines; then the server's own must do.
		deadline := time.Now().Add(b.stall)
		_ = b.control.SetReadDeadline(deadline)
		_ = b.control.SetWriteDeadline(deadline.Add(time.Minute)) // for the answer
	}
	n, err := b.body.Read(p)
	b.due -= n
	if errors.Is(err, io.EOF) {
		// The server reads on, to notice when the client goes.
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// receive stores a part and returns its ETag.
func (f *Folder) receive(ctx context.Context, g grant, body io.Reader) (etag string, err error) {
	if f.isDone(g.upload) {
		return "", noUpload()
	}
	dir := stageDir(g.upload)
	name := path.Join(dir, incomingFiles+rand.Text())
	err = f.write(name, 0o600, func(file *os.File) error {
		etag, err = writePart(ctx, file, body, g)
		return err
	})
	if err == nil && f.isDone(g.upload) {
		err = noUpload() // ended meanwhile
	}
	if err == nil {
		err = f.root().Rename(name, path.Join(dir, fmt.Sprintf(partPattern, g.number)))
	}
	if err == nil {
		err = f.syncDir(dir)
	}
	if err != nil {
		_ = f.root().Remove(name) // what stays is swept
	}
	if missing(err) {
		return "", f.noUpload(ctx)
	}
	return etag, failed(ctx, err, "store part %d of %q", g.number, g.upload.Key)
}

// writePart writes exactly the bytes of a part, and their MD5. It returns the ETag.
func writePart(ctx context.Context, file *os.File, body io.Reader, g grant) (string, error) {
	buffer := buffers.Get().(*[bufferSize]byte)
	defer buffers.Put(buffer)
	hash := md5.New()
	// A MultiWriter and a LimitedReader have no ways around the buffer.
	n, err := io.CopyBuffer(io.MultiWriter(file, hash), io.LimitReader(body, g.size+1), buffer[:])
	if err == nil && n == g.size {
		sum := hash.Sum(nil)
		_, err := file.Write(sum)
		return hex.EncodeToString(sum), failed(ctx, err, "write part %d of %q", g.number, g.upload.Key)
	}
	var disk *fs.PathError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return "", storage.Errorf(storage.ErrInvalid, "part %d came in too slowly", g.number)
	case errors.As(err, &disk) || err != nil && ctx.Err() != nil:
		return "", failed(ctx, err, "receive part %d of %q", g.number, g.upload.Key)
	}
	return "", wrongSize(g)
}

func wrongSize(g grant) error {
	return storage.Errorf(storage.ErrInvalid, "part %d must have exactly %d bytes", g.number, g.size)
}
