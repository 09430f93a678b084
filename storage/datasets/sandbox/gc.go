package sandbox

import (
	"runtime"
	"runtime/debug"
)

// firstGC is a worker's setting until its first garbage collection, at 16 MB. With the default
// that is at 4 MB, and two collections run while packages are initialized.
const firstGC = "GOGC=400"

// resetGC sets the default of GOGC after the first garbage collection.
func resetGC() {
	// The pointer keeps it out of the blocks that small objects share, whose cleanups may
	// never run.
	collected := new(struct{ next *int })
	runtime.AddCleanup(collected, func(percent int) { debug.SetGCPercent(percent) }, 100)
}
