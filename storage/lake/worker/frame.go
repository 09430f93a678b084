package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// MaxRequest bounds what the server sends a worker in one frame. A set of
// tables with many files is the largest of it.
const MaxRequest = 16 << 20

var errFrameTooLarge = errors.New("frame is larger than agreed")

// WriteFrame writes a frame: four bytes of length, then the payload, in one
// write so that a killed peer leaves no half of a header behind.
func WriteFrame(w io.Writer, payload []byte) error {
	buf := make([]byte, 4, 4+len(payload))
	binary.BigEndian.PutUint32(buf, uint32(len(payload)))
	_, err := w.Write(append(buf, payload...))
	return err
}

// ReadFrame reads one frame of at most limit bytes. It takes memory as bytes
// come in, so that a length that promises more than is sent costs nothing.
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
