package ingest

import (
	"fmt"
	"os"
	"time"
)

const reportInterval = 100 * time.Millisecond

// meter counts what has been checked and reports it.
type meter struct {
	report   func(Progress)
	now      Progress
	reported time.Time
}

func (m *meter) start(report func(Progress), sources []Source) error {
	m.report = report
	for _, source := range sources {
		info, err := os.Stat(source.Path)
		if err != nil {
			return fmt.Errorf("stat source: %w", err)
		}
		m.now.Total += info.Size()
	}
	return nil
}

// checked counts bytes of a source, as its owner sent it, and rows in them.
func (m *meter) checked(bytes, rows int64) {
	m.now.Rows += rows
	m.now.Bytes = min(m.now.Bytes+bytes/2, m.now.Total/2)
	if m.report != nil && time.Since(m.reported) >= reportInterval {
		m.reported = time.Now()
		m.report(m.now)
	}
}

func (m *meter) finish() {
	m.now.Bytes = m.now.Total
	if m.report != nil {
		m.report(m.now)
	}
}
