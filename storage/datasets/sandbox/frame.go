package sandbox

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxRequest bounds a request. The largest has tables with many files.
const MaxRequest = 16 << 20

var errFrameTooLarge = errors.New("frame is larger than agreed")

// WriteFrame writes four bytes of length and the payload, in one write.
func WriteFrame(w io.Writer, payload []byte) error {
	buf := make([]byte, 4, 4+len(payload))
	binary.BigEndian.PutUint32(buf, uint32(len(payload)))
	_, err := w.Write(append(buf, payload...))
	return err
}

// ReadFrame reads a frame of at most limit bytes. It allocates as bytes arrive, so that a
// wrong length costs no memory.
func ReadFrame(r io.Reader, limit int) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	size := int64(binary.BigEndian.Uint32(head[:]))
	if size > int64(limit) {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errFrameTooLarge, size, limit)
	}
	const step = 64 << 10
	buf := make([]byte, 0, min(size, step))
	for int64(len(buf)) < size {
		chunk := min(size-int64(len(buf)), max(step, int64(len(buf))))
		at := len(buf)
		buf = append(buf, make([]byte, chunk)...)
		if _, err := io.ReadFull(r, buf[at:]); err != nil {
			return nil, fmt.Errorf("read frame of %d bytes: %w", size, err)
		}
	}
	return buf, nil
}
