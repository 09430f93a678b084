package cli

import (
	"syscall"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestIngestOnTerminal watches the bar, and stops it with Ctrl-C.
func TestIngestOnTerminal(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	i.parts.holdAllPartsBut(2)
	s := onScreen(t, e2etest.Command(t, i.dir, i.env, ingestBig...))
	s.sees("sending big.csv [======")
	s.sees("of 20.0 MiB")
	e2etest.Eventually(t, func() bool {
		stored, _ := i.parts.now()
		return len(stored) > 0
	})
	s.types(ctrlC)
	s.sees("\r\x1b[K")
	s.sees("run the same command again to resume")
	if code := s.ends(); code != e2etest.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	i.parts.drop()
	i.parts.forget()
	s = onScreen(t, e2etest.Command(t, i.dir, i.env, ingestBig...))
	s.sees("were there already")
	s.sees("price   number")
	if code := s.ends(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
}

// TestIngestStopsWhileWaiting interrupts the wait for an ingestion: the same command
// waits for the same one.
func TestIngestStopsWhileWaiting(t *testing.T) {
	t.Parallel()
	i := newIngester(t)
	i.write("big.csv", bigCSV(bigRows))
	i.gate.hold(isAttempts)
	cmd := e2etest.Command(t, i.dir, i.env, ingestBig...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e2etest.Eventually(t, func() bool {
		_, held := i.gate.now()
		return held > 0
	})
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != e2etest.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	i.gate.drop()
	i.gate.forget()
	i.goesOn()
}
