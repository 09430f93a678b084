package console

import (
	"fmt"
	"io"
	"strings"
	"time"
)

const (
	// barTick is how often a bar is drawn, lineTick how often a line may be printed.
	barTick  = 100 * time.Millisecond
	lineTick = time.Second
	// A line is printed after lineStep percent, or lineSilence.
	lineStep    = 10
	lineSilence = 30 * time.Second
	// barWidth is the width of a bar, narrowBar its least width.
	barWidth, narrowBar = 24, 4
	// rateWindow is the time over which the rate is measured.
	rateWindow = 5 * time.Second
)

// Meter shows the progress in bytes: a bar on a terminal, lines elsewhere.
type Meter struct {
	live Live
	what string
	// then is what is done when all bytes are.
	then string
	// total is -1 if it is not known.
	total int64
	// measure returns how many bytes are done, and how many of them since the start.
	measure func() (done, fresh int64)

	started time.Time
	samples []sample
	// percent and lastLine are those of the latest line.
	percent  int64
	lastLine time.Time
	// complete is since when all bytes are done.
	complete time.Time
	stop     chan struct{}
	stopped  chan struct{}
}

type sample struct {
	at    time.Time
	fresh int64
}

// StartMeter shows a meter until Stop is called: what is done, and when all bytes are, what is
// done then. A total of -1 is not known.
func StartMeter(w io.Writer, what, then string, total int64, measure func() (done, fresh int64)) *Meter {
	now := time.Now()
	m := &Meter{
		live: NewLive(w), what: what, then: then, total: total, measure: measure,
		started: now, lastLine: now, stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go m.run()
	return m
}

// Stop removes the meter. It returns how long it was shown.
func (m *Meter) Stop() time.Duration {
	close(m.stop)
	<-m.stopped
	m.live.Clear()
	return time.Since(m.started)
}

func (m *Meter) run() {
	defer close(m.stopped)
	tick := lineTick
	if m.live.Style.Terminal() {
		tick = barTick
	}
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case <-m.stop:
			return
		case now := <-ticker.C:
			m.show(now)
		}
	}
}

func (m *Meter) show(now time.Time) {
	done, fresh := m.measure()
	rate := m.rate(now, fresh)
	if m.total >= 0 && done >= m.total {
		m.showComplete(now)
		return
	}
	m.complete = time.Time{}
	figures := m.figures(done, rate)
	bar, line, percent := m.what+": "+figures, figures, int64(0)
	if m.total > 0 {
		percent = 100 * done / m.total
		bar, line = m.line(percent, figures), fmt.Sprintf("%d %%, %s", percent, figures)
	}
	if m.live.Style.Terminal() {
		m.live.Set(bar)
		return
	}
	if percent >= m.percent+lineStep || now.Sub(m.lastLine) >= lineSilence {
		m.percent, m.lastLine = percent, now
		fmt.Fprintf(m.live.W, "%s: %s\n", Line(m.what), line)
	}
}

// showComplete shows what is done after all bytes, and for how long.
func (m *Meter) showComplete(now time.Time) {
	begins := m.complete.IsZero()
	if begins {
		m.complete = now
	}
	text := fmt.Sprintf("%s: %s", m.what, m.then)
	if waited := now.Sub(m.complete); waited >= time.Second {
		text += ", for " + Duration(waited)
	}
	if m.live.Style.Terminal() {
		m.live.Set(text)
		return
	}
	if begins || now.Sub(m.lastLine) >= lineSilence {
		m.lastLine = now
		fmt.Fprintln(m.live.W, Line(text))
	}
}

// rate is the recent rate in bytes per second.
func (m *Meter) rate(now time.Time, fresh int64) float64 {
	m.samples = append(m.samples, sample{now, fresh})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= rateWindow {
		m.samples = m.samples[1:]
	}
	first := sample{at: m.started}
	if len(m.samples) > 1 {
		first = m.samples[0]
	}
	return max(0, float64(fresh-first.fresh)/now.Sub(first.at).Seconds())
}

func (m *Meter) figures(done int64, rate float64) string {
	text := Bytes(done)
	if m.total > 0 {
		text += " of " + Bytes(m.total)
	}
	switch {
	case rate < 1:
		return text
	case m.total < 0:
		return fmt.Sprintf("%s, %s/s", text, Bytes(int64(rate)))
	}
	left := time.Duration(float64(m.total-done) / rate * float64(time.Second))
	return fmt.Sprintf("%s, %s/s, %s left", text, Bytes(int64(rate)), Duration(left))
}

// line has a bar as wide as the figures allow.
func (m *Meter) line(percent int64, figures string) string {
	figures = fmt.Sprintf("%3d %%  %s", percent, figures)
	room := m.live.Style.Width - Width(Line(m.what+figures)) - len(" [] ") - 1
	width := min(room, barWidth)
	if width < narrowBar {
		return m.what + " " + figures
	}
	full := int(percent) * width / 100
	return fmt.Sprintf("%s [%s%s] %s", m.what, strings.Repeat("=", full), strings.Repeat(" ", width-full), figures)
}

// Bytes formats a number of bytes.
func Bytes(bytes int64) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%d B", bytes)
	}
	value := float64(bytes)
	unit := ""
	for _, unit = range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value /= 1 << 10; value < 1<<10 {
			break
		}
	}
	return fmt.Sprintf("%.1f %s", value, unit)
}

// Duration formats a duration.
func Duration(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}

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
