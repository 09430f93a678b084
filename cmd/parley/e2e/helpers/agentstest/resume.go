package agentstest

import (
	"bytes"
	"slices"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/agents"
	"parley/cmd/parley/e2e/helpers/golden"
)

// Streams compares the events of each script with a golden file, and looks for internals in
// them.
func Streams(t *testing.T, scripts map[string]func() *Script, executor func(agents.Config) a2asrv.AgentExecutor) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script()
			got := Lines(t, s.Run(t, executor(s.Config()), nil))
			golden.Assert(t, name+".jsonl", golden.Scrub(got))
			if bytes.Contains(got, []byte("secret")) || bytes.Contains(got, []byte("10.0.0.1")) {
				t.Errorf("internals reach the reader: %s", got)
			}
		})
	}
}

// Resume checks that a run of each script that is taken over at any point goes on with
// exactly what is missing, and asks for nothing that was given.
func Resume(t *testing.T, scripts map[string]func() *Script, executor func(agents.Config) a2asrv.AgentExecutor) {
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			resume(t, script, executor)
		})
	}
}

func resume(t *testing.T, script func() *Script, executor func(agents.Config) a2asrv.AgentExecutor) {
	first := script()
	whole := first.Run(t, executor(first.Config()), nil)
	want := string(golden.Scrub(Lines(t, whole)))
	for at := range whole {
		for _, raw := range []bool{true, false} {
			s := script()
			before := whole[:at+1]
			rest := s.Run(t, executor(s.Config()), s.Fold(t, before, raw))
			if got := string(golden.Scrub(Lines(t, slices.Concat(before, rest)))); got != want {
				t.Errorf("taken over after event %d (raw %v):\n%s\nwant\n%s", at+1, raw, got, want)
			}
			if len(s.Asked) > len(first.Asked) || !slices.Equal(s.Asked, first.Asked[len(first.Asked)-len(s.Asked):]) {
				t.Errorf("taken over after event %d, the jobs were %q, at first %q", at+1, s.Asked, first.Asked)
			}
			if at == len(whole)-1 && len(rest)+len(s.Asked)+len(s.Ran) > 0 {
				t.Errorf("a run that has ended goes on: %d events, %q, %q", len(rest), s.Asked, s.Ran)
			}
		}
	}
}
