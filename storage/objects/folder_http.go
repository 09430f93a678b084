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

	"parley/internal/domain"
)

// bufferSize is the memory for each part that is being received.
const bufferSize = 64 << 10

var buffers = sync.Pool{New: func() any { return new([bufferSize]byte) }}

// ServePart receives a part that a client sends to an address of PartURL. It answers 200
// with the part's ETag; after an error, the caller answers. ErrForbidden: the address is
// wrong or has expired. ErrNotFound: the upload has ended. ErrInvalid: the part has a wrong
// size or comes too slowly. ErrTooMany: the user sends too many at once. ErrUnavailable:
// all users do, or the part cannot be stored.
func (f *Folder) ServePart(w http.ResponseWriter, r *http.Request) error {
	g, err := verify(f.cfg.Secret, r.Method, r.URL.RawQuery, f.cfg.Now())
	if err != nil {
		return err
	}
	if r.ContentLength >= 0 && r.ContentLength != g.size {
		return wrongSize(g)
	}
	// The body is not read before there is a slot.
	slot, err := f.queue.Acquire(g.userTag)
	if err != nil {
		return err
	}
	if err := slot.WaitTimeout(r.Context(), f.cfg.QueueTimeout); err != nil {
		return err
	}
	defer slot.Release()
	etag, err := f.receive(r.Context(), g, &timedBody{body: r.Body, control: http.NewResponseController(w), stall: f.cfg.Stall})
	if err != nil {
		return err
	}
	w.Header().Set("ETag", `"`+etag+`"`)
	w.WriteHeader(http.StatusOK)
	return nil
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
		return "", domain.Errorf(domain.ErrInvalid, "part %d came in too slowly", g.number)
	case errors.As(err, &disk) || err != nil && ctx.Err() != nil:
		return "", failed(ctx, err, "receive part %d of %q", g.number, g.upload.Key)
	}
	return "", wrongSize(g)
}

func wrongSize(g grant) error {
	return domain.Errorf(domain.ErrInvalid, "part %d must have exactly %d bytes", g.number, g.size)
}
