package console

import (
	"fmt"
	"io"
	"time"
)

// clearLine goes to the beginning of a terminal's line and empties it.
const clearLine = "\r\x1b[K"

// Live is a line of a terminal that says what is being done now, and is written
// over and over. Where there is no terminal it shows nothing.
type Live struct {
	W     io.Writer
	Style Style
}

// NewLive makes a line of w.
func NewLive(w io.Writer) Live { return Live{w, StyleOf(w)} }

// Set has the line show a text, made harmless and cut to the terminal.
func (l Live) Set(text string) {
	if l.Style.Terminal() {
		fmt.Fprint(l.W, clearLine+l.Style.Dim(Cut(Line(text), l.Style.Width-1)))
	}
}

// Clear takes the line away.
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

// Printf replaces the line, unless it was replaced just now.
func (p *Progress) Printf(format string, args ...any) {
	if time.Since(p.last) >= barTick {
		p.last = time.Now()
		p.Set(fmt.Sprintf(format, args...))
	}
}
