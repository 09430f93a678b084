package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/waittest"
)

// What a worker started ends with it. Then its PID may be that of another process, so nothing
// is done to it.
func TestWorkerEndsByItself(t *testing.T) {
	t.Parallel()
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "sleep 1000 & echo $! >&3"}, Unconfined: true})
	if err != nil {
		t.Fatal(err)
	}
	child, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the worker's PID is free", func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", p.PID))
		return err != nil
	})
	p.whileRunning(func(int) { t.Error("the worker has ended") })
	waittest.Until(t, "what it started has ended", func() bool {
		status, err := os.ReadFile("/proc/" + strings.TrimSpace(child) + "/status")
		return err != nil || strings.Contains(string(status), "State:\tZ")
	})
	p.Kill()
}

// The time of a process that waits does not grow.
func TestProcessorTime(t *testing.T) {
	t.Parallel()
	waits := exec.Command("cat")
	if _, err := waits.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := waits.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = waits.Process.Kill()
		_ = waits.Wait()
	})
	waittest.Until(t, "it waits", func() bool {
		used := processorTime(waits.Process.Pid)
		return used > 0 && used == processorTime(waits.Process.Pid)
	})
}

// The time of a worker whose end cannot be waited for is the elapsed time, while it runs.
func TestElapsedTime(t *testing.T) {
	t.Parallel()
	p := &Process{PID: os.Getpid(), unreserved: true, exited: true, ended: make(chan struct{})}
	start := p.ProcessorTime()
	waittest.Until(t, "time passes", func() bool { return p.ProcessorTime() > start })
	close(p.ended)
	if atEnd := p.ProcessorTime(); atEnd <= start || p.ProcessorTime() != atEnd {
		t.Errorf("%v, then %v", atEnd, p.ProcessorTime())
	}
}

// Where the end of a worker cannot be waited for, its memory is not measured, and it says so.
func TestCanWaitExit(t *testing.T) {
	t.Parallel()
	p, err := Start(Spec{Path: "/bin/cat", Unconfined: true})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Kill()
	if slices.Contains(p.Lacks, "memory limit") {
		t.Errorf("the end of a worker cannot be waited for: %q", p.Lacks)
	}
	if canWaitExit(os.Getppid()) {
		t.Error("the end of another process can be waited for")
	}
}
