package console

import (
	"fmt"
	"io"
	"time"
)

// clearLine clears the current line of a terminal.
const clearLine = "\r\x1b[K"

// Live is a status line of a terminal that is overwritten. Elsewhere it shows nothing.
type Live struct {
	W     io.Writer
	Style Style
}

// NewLive returns a status line on w.
func NewLive(w io.Writer) Live { return Live{w, StyleOf(w)} }

// Set shows a text, escaped and cut to the terminal.
func (l Live) Set(text string) {
	if l.Style.Terminal() {
		fmt.Fprint(l.W, clearLine+l.Style.Dim(Cut(Line(text), l.Style.Width-1)))
	}
}

// Clear removes the line.
func (l Live) Clear() {
	if l.Style.Terminal() {
		fmt.Fprint(l.W, clearLine)
	}
}

// Progress is a live line that is redrawn at most every barTick.
type Progress struct {
	Live
	last time.Time
}

// NewProgress returns a line of progress on w.
func NewProgress(w io.Writer) *Progress { return &Progress{Live: NewLive(w)} }

// Printf replaces the line, unless that was just replaced.
func (p *Progress) Printf(format string, args ...any) {
	if time.Since(p.last) >= barTick {
		p.last = time.Now()
		p.Set(fmt.Sprintf(format, args...))
	}
}
