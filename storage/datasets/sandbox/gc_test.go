package sandbox

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"

	"parley/cmd/parley/e2e/helpers/waittest"
)

// TestResetGC changes a setting of the whole process, to its default.
func TestResetGC(t *testing.T) {
	percent := func() uint64 {
		sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(sample)
		return sample[0].Value.Uint64()
	}
	defer debug.SetGCPercent(debug.SetGCPercent(400))
	resetGC()
	waittest.Until(t, "GOGC is reset", func() bool {
		runtime.GC()
		return percent() == 100
	})
}
