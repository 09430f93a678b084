package chart

import (
	"math"
	"strings"
)

// counts are words in names of numbers that have no unit of the column that was counted.
var counts = set("count counts number")

// maxUnit limits a unit, in bytes.
const maxUnit = 20

// displayUnit returns a unit as it is shown; "" for none that can be.
func displayUnit(unit string) string {
	if len(unit) > maxUnit {
		return ""
	}
	return strings.TrimSpace(harmless(unit))
}

// siFormat writes thousands as k and millions as M.
const siFormat = "~s"

// axisFormat returns the format of a measure on an axis; "" for that of the renderer, which
// has as many digits as the ticks need.
func (c *column) axisFormat() string {
	switch {
	case c.isShare():
		return "~%"
	case max(math.Abs(c.least), math.Abs(c.most)) >= 1e6:
		return siFormat
	case c.whole:
		return ",d"
	}
	return ""
}

// valueFormat returns the format of one value of a measure.
func (c *column) valueFormat() string {
	switch {
	case c.isShare():
		return ".1~%"
	case c.whole:
		return ",d"
	case max(math.Abs(c.least), math.Abs(c.most)) >= 1:
		return ",.2~f"
	}
	return ".4~g"
}
