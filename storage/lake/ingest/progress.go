package ingest

import (
	"fmt"
	"os"
	"time"
)

// tellEvery is how often progress is told at most.
const tellEvery = 100 * time.Millisecond

// meter counts what has been checked and tells it now and then.
type meter struct {
	tell func(Progress)
	now  Progress
	told time.Time
}

func (m *meter) start(tell func(Progress), sources []Source) error {
	m.tell = tell
	for _, source := range sources {
		info, err := os.Stat(source.Path)
		if err != nil {
			return fmt.Errorf("look at source: %w", err)
		}
		m.now.Total += info.Size()
	}
	return nil
}

// checked counts bytes of a source, as its owner sent it, and rows in them.
func (m *meter) checked(bytes, rows int64) {
	m.now.Rows += rows
	m.now.Bytes = min(m.now.Bytes+bytes/2, m.now.Total/2)
	if m.tell != nil && time.Since(m.told) >= tellEvery {
		m.told = time.Now()
		m.tell(m.now)
	}
}

func (m *meter) finish() {
	m.now.Bytes = m.now.Total
	if m.tell != nil {
		m.tell(m.now)
	}
}
