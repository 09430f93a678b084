//go:build !linux

package lake

import (
	"math"
	"os"
	"syscall"
	"time"
)

// Other systems have the walls that need no kernel: the validator, DuckDB's
// settings, a process of its own that is killed at the deadline.

func confine(string, []*os.File) ([]string, error) {
	return []string{"landlock", "seccomp", "memory limit"}, nil
}

func confineMaker(string, []string, string) ([]string, error) { return confine("", nil) }

func makerAttributes() []attributes { return processAttributes() }

func confineThread([]string) error { return nil }

func processAttributes() []attributes { return []attributes{{sys: syscall.SysProcAttr{}}} }

func bound(limits) error { return nil }

func boundCPU(time.Duration) error { return nil }

func firstToGo(int) {}

func addressSpace(int) (uint64, error) { return 0, nil }

func killGroup(pid int) { _ = syscall.Kill(pid, syscall.SIGKILL) }

func freeDisk(string) (int64, error) { return math.MaxInt64, nil }

func markInherited() error { return markDescriptors() }

func inherited(path string, _ int) string { return path }

func boundMaker(makeRequest) error { return nil }
