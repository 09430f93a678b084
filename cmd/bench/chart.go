package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"strings"
)

// The size of a plot and of its grid, in pixels.
const (
	plotWidth, plotHeight      = 720, 400
	left, right, upper, bottom = 76.0, 696.0, 84.0, 348.0
)

// style has colors for light and dark screens that people with color blindness can tell
// apart.
const style = `text{font:13px system-ui,sans-serif;fill:#1f2328}.title{font-size:16px;font-weight:600}.soft{fill:#59636e}
.page{fill:#fff}.grid{stroke:#d1d9e0;stroke-width:1}path{fill:none;stroke-width:2.5;stroke-linejoin:round}
.s0{stroke:#0969da}.s1{stroke:#bc4c00}.s2{stroke:#1a7f37}.s3{stroke:#8250df}
.d0{fill:#0969da}.d1{fill:#bc4c00}.d2{fill:#1a7f37}.d3{fill:#8250df}
@media(prefers-color-scheme:dark){text{fill:#f0f6fc}.soft{fill:#9198a1}.page{fill:#0d1117}.grid{stroke:#3d444d}
.s0{stroke:#4493f8}.s1{stroke:#f0883e}.s2{stroke:#3fb950}.s3{stroke:#ab7df8}
.d0{fill:#4493f8}.d1{fill:#f0883e}.d2{fill:#3fb950}.d3{fill:#ab7df8}}`

// scale maps values to a logarithmic axis.
type scale struct{ low, high, from, to float64 }

func (s scale) at(v float64) float64 {
	if s.high == s.low {
		return (s.from + s.to) / 2
	}
	return s.from + (s.to-s.from)*math.Log(v/s.low)/math.Log(s.high/s.low)
}

func sizesOf(g growth, all figures) (sizes []float64) {
	for _, s := range g.series {
		for _, p := range all.points(s.pick, g.axis) {
			sizes = append(sizes, p.size)
		}
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// svg draws the plot of what was measured, with logarithmic axes.
func (g growth) svg(all figures) string {
	var out strings.Builder
	draw := func(format string, args ...any) { fmt.Fprintf(&out, format+"\n", args...) }
	draw(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s">`, plotWidth, plotHeight, escape(g.title))
	draw(`<style>%s</style>`, style)
	draw(`<rect class="page" width="%d" height="%d" rx="6"/>`, plotWidth, plotHeight)
	draw(`<text class="title" x="20" y="30">%s</text>`, escape(g.title))
	draw(`<text class="soft" text-anchor="end" x="%g" y="30">%s</text>`, right, escape(g.unit))
	sizes, ticks := sizesOf(g, all), g.ticks(all)
	if len(ticks) == 0 {
		draw(`<text class="soft" text-anchor="middle" x="%d" y="%d">not measured</text></svg>`, plotWidth/2, plotHeight/2)
		return out.String()
	}
	x := scale{sizes[0], sizes[len(sizes)-1], left + 20, right - 20}
	y := scale{ticks[0], ticks[len(ticks)-1], bottom, upper}
	for _, v := range ticks {
		draw(`<line class="grid" x1="%g" x2="%g" y1="%.1f" y2="%.1f"/>`, left, right, y.at(v), y.at(v))
		draw(`<text class="soft" text-anchor="end" x="%g" y="%.1f">%s</text>`, left-8, y.at(v)+4, tick(v))
	}
	for _, v := range sizes {
		draw(`<text class="soft" text-anchor="middle" x="%.1f" y="%g">%s</text>`, x.at(v), bottom+20, short(v))
	}
	draw(`<text class="soft" text-anchor="middle" x="%g" y="%g">%s</text>`, (left+right)/2, bottom+40, escape(g.axis))
	legend := 20.0
	for i, s := range g.series {
		line := all.points(s.pick, g.axis)
		name := s.name
		if len(line) == 0 {
			name += " (not measured)"
		}
		draw(`<circle class="d%d" cx="%g" cy="54" r="5"/><text x="%g" y="58">%s</text>`, i, legend+5, legend+16, escape(name))
		legend += 40 + 7*float64(len([]rune(name)))
		drawLine(draw, i, s.name+" ", g.unit, line, x, y)
	}
	draw(`</svg>`)
	return out.String()
}

func drawLine(draw func(format string, args ...any), i int, name, unit string, line []point, x, y scale) {
	var path strings.Builder
	for n, p := range line {
		if p.value <= 0 {
			continue // a logarithmic axis has no 0; the table has it
		}
		fmt.Fprintf(&path, "%c%.1f %.1f", "ML"[min(path.Len(), 1)], x.at(p.size), y.at(p.value))
		draw(`<circle class="d%d" cx="%.1f" cy="%.1f" r="4"><title>%s</title></circle>`, i, x.at(p.size), y.at(p.value),
			escape(fmt.Sprintf("%s: %s %s", name+short(line[n].size), number(p.value), unit)))
	}
	if path.Len() > 0 {
		draw(`<path class="s%d" d="%s"/>`, i, path.String())
	}
}

// ticks returns the values of the grid lines: powers of ten, and twice and five times those
// if they are few. All values are between the first and the last.
func (g growth) ticks(all figures) (ticks []float64) {
	low, high := math.Inf(1), 0.0
	for _, s := range g.series {
		for _, p := range all.points(s.pick, g.axis) {
			if p.value > 0 {
				low, high = min(low, p.value), max(high, p.value)
			}
		}
	}
	if high == 0 {
		return nil
	}
	steps := []float64{1, 2, 5}
	if high/low > 3000 {
		steps = []float64{1}
	}
	for power := math.Floor(math.Log10(low)); ; power++ {
		for _, step := range steps {
			v := step * math.Pow(10, power)
			if v <= low {
				ticks = nil // only the last one below is needed
			}
			if ticks = append(ticks, v); v >= high && len(ticks) > 1 {
				return ticks
			}
		}
	}
}

// tick formats a value of the grid: 0.5, 20, 5,000, 1M.
func tick(v float64) string {
	if v >= 1 {
		return short(v)
	}
	return fmt.Sprintf("%.3g", v)
}

func escape(text string) string {
	var out strings.Builder
	_ = xml.EscapeText(&out, []byte(text)) // a Builder takes everything
	return out.String()
}
