//go:build !race

package reader_test

import "parley/internal/fulltest"

// questionStep has every second question of a suite asked; all of them in a full run.
var questionStep = fulltest.Count(2, 1)
