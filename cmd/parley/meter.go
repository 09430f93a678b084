package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"parley/internal/console"
)

const (
	// barTick is how often a bar is drawn, lineTick how often is looked whether
	// there is a line to print.
	barTick  = 100 * time.Millisecond
	lineTick = time.Second
	// lineStep is after how many percent there is, lineSilence after how long.
	lineStep    = 10
	lineSilence = 30 * time.Second
	// barWidth is how many columns a bar has, narrowBar how many at least.
	barWidth, narrowBar = 24, 4
	// rateWindow is how long the past is that the rate is taken from.
	rateWindow = 5 * time.Second
)

// meter shows how many bytes of how many are done: a bar on a terminal, a line now
// and then elsewhere.
type meter struct {
	live  console.Live
	what  string
	total int64
	// measure gives how many bytes are done, and how many of them since the start.
	measure func() (done, fresh int64)

	begun   time.Time
	samples []reading
	// percent and said are those of the latest line.
	percent int64
	said    time.Time
	stop    chan struct{}
	stopped chan struct{}
}

type reading struct {
	at    time.Time
	fresh int64
}

// startMeter shows a meter until end is called.
func startMeter(w io.Writer, what string, total int64, measure func() (done, fresh int64)) *meter {
	now := time.Now()
	m := &meter{
		live: console.NewLive(w), what: what, total: total, measure: measure,
		begun: now, said: now, stop: make(chan struct{}), stopped: make(chan struct{}),
	}
	go m.run()
	return m
}

// end takes the meter away. It gives how long it was there.
func (m *meter) end() time.Duration {
	close(m.stop)
	<-m.stopped
	m.live.Clear()
	return time.Since(m.begun)
}

func (m *meter) run() {
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

func (m *meter) show(now time.Time) {
	done, fresh := m.measure()
	rate := m.rate(now, fresh)
	percent := int64(100)
	if m.total > 0 {
		percent = min(100*done/m.total, 100)
	}
	if m.live.Style.Terminal() {
		m.live.Set(m.line(percent, m.figures(done, rate)))
		return
	}
	if percent >= m.percent+lineStep || now.Sub(m.said) >= lineSilence {
		m.percent, m.said = percent, now
		fmt.Fprintf(m.live.W, "%s: %d %%, %s\n", console.Line(m.what), percent, m.figures(done, rate))
	}
}

// rate is how many bytes a second there were of late.
func (m *meter) rate(now time.Time, fresh int64) float64 {
	m.samples = append(m.samples, reading{now, fresh})
	for len(m.samples) > 2 && now.Sub(m.samples[1].at) >= rateWindow {
		m.samples = m.samples[1:]
	}
	first := reading{at: m.begun}
	if len(m.samples) > 1 {
		first = m.samples[0]
	}
	return max(0, float64(fresh-first.fresh)/now.Sub(first.at).Seconds())
}

func (m *meter) figures(done int64, rate float64) string {
	text := fmt.Sprintf("%s of %s", byteSize(done), byteSize(m.total))
	if rate < 1 {
		return text
	}
	left := time.Duration(float64(m.total-done) / rate * float64(time.Second))
	return fmt.Sprintf("%s, %s/s, %s left", text, byteSize(int64(rate)), span(left))
}

// line has a bar as wide as the figures leave room for.
func (m *meter) line(percent int64, figures string) string {
	figures = fmt.Sprintf("%3d %%  %s", percent, figures)
	room := m.live.Style.Width - console.Width(console.Line(m.what+figures)) - len(" [] ") - 1
	width := min(room, barWidth)
	if width < narrowBar {
		return m.what + " " + figures
	}
	full := int(percent) * width / 100
	return fmt.Sprintf("%s [%s%s] %s", m.what, strings.Repeat("=", full), strings.Repeat(" ", width-full), figures)
}

// byteSize is a number of bytes as people say it.
func byteSize(bytes int64) string {
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

// span is a time as people say it.
func span(d time.Duration) string {
	switch d = d.Round(time.Second); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}
