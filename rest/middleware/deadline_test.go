package middleware

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gin-gonic/gin"
)

// slowClient takes a piece in a given time.
type slowClient struct {
	gin.ResponseWriter
	takes    time.Duration
	deadline time.Time
}

func (c *slowClient) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

func (c *slowClient) Write(text []byte) (int, error) {
	if left := time.Until(c.deadline); left < c.takes {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(c.takes)
	return len(text), nil
}

// TestSlowReadersEnd has clients read a large answer that is in memory: one that is
// slow gets it, one that reads on but is too slow is cut off.
func TestSlowReadersEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		answer := make([]byte, 100*writeChunk)
		for takes, want := range map[time.Duration]error{2 * time.Second: nil, 14 * time.Second: os.ErrDeadlineExceeded, time.Minute: os.ErrDeadlineExceeded} {
			w := deadlineWriter{ResponseWriter: &slowClient{takes: takes}, timeout: 15 * time.Second}
			start := time.Now()
			if _, err := w.Write(answer); !errors.Is(err, want) {
				t.Errorf("%v for a piece: %v", takes, err)
			}
			if took := time.Since(start); took > 5*time.Minute {
				t.Errorf("%v for a piece: the answer was in memory for %v", takes, took)
			}
			// The next answer has its own time.
			if _, err := w.Write(make([]byte, writeChunk)); takes < w.timeout && err != nil {
				t.Errorf("%v for a piece, after the answer: %v", takes, err)
			}
		}
	})
}
