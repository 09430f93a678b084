//go:build !linux

package disk

import "math"

// measure does not know here.
func measure(string) (usage, error) { return usage{math.MaxInt64, math.MaxInt64}, nil }
