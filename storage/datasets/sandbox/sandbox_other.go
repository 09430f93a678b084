//go:build !linux

package sandbox

import (
	"math"
	"os"
	"syscall"
	"time"
)

// Other systems have the isolation layers that need no kernel: the check of SQL,
// DuckDB's settings, a process of its own that is killed at the deadline.

func confine(Spec) ([]string, error) { return []string{"landlock", "seccomp", "memory limit"}, nil }

// ConfineThread does nothing here.
func ConfineThread(string) error { return nil }

func processAttributes(Spec) []attributes { return []attributes{{sys: syscall.SysProcAttr{}}} }

// Apply does nothing here.
func (Limits) Apply() error { return nil }

// LimitCPU does nothing here.
func LimitCPU(time.Duration) error { return nil }

func setOOMScore(int) {}

func addressSpace(int) (uint64, error) { return 0, nil }

func residentMemory(int) int64 { return 0 }

// processorTime is the elapsed time here.
func processorTime(int) time.Duration { return time.Since(loaded) }

// killGroup does nothing here: a worker has no group of its own.
func killGroup(int) {}

// lowerPriority does nothing here.
func lowerPriority(int) {}

func waitExit(int) bool { return false }

func canWaitExit(int) bool { return false }

func markInherited() error { return markDescriptors() }

func openFolder(path string) (*os.File, error) { return os.Open(path) }

func folderInWorker(path string) string { return path }

// LimitIngest does nothing here.
func LimitIngest(int64, int) error { return nil }

// LimitFileSize does nothing here: the server checks the size of the file.
func LimitFileSize(int64) error { return nil }

func onMainThread() bool { return false }
