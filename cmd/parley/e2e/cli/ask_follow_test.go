package cli

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/logtest"
)

// screen is a terminal with the program on it.
type screen struct {
	t    *testing.T
	tty  *os.File
	cmd  *exec.Cmd
	seen logtest.Buffer
	// read is how much has been waited for.
	read int
}

// onScreen starts the program on a terminal of 100 columns.
func onScreen(t *testing.T, cmd *exec.Cmd) *screen {
	t.Helper()
	cmd.Env = append(cmd.Env, "TERM=xterm")
	tty, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 40, Cols: 100})
	if err != nil {
		t.Fatal(err)
	}
	s := &screen{t: t, tty: tty, cmd: cmd}
	go func() { _, _ = io.Copy(&s.seen, tty) }() // until the program has ended
	t.Cleanup(func() {
		_ = tty.Close()
		if t.Failed() {
			t.Logf("screen: %q", s.seen.String())
		}
	})
	return s
}

// sees waits until a text appears after what was waited for before.
func (s *screen) sees(text string) {
	s.t.Helper()
	e2etest.Eventually(s.t, func() bool {
		at := strings.Index(s.seen.String()[s.read:], text)
		if at >= 0 {
			s.read += at + len(text)
		}
		return at >= 0
	})
}

func (s *screen) types(keys string) {
	s.t.Helper()
	if _, err := s.tty.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// ends waits for the program, and gives its exit code.
func (s *screen) ends() int {
	s.t.Helper()
	_ = s.cmd.Wait()
	return s.cmd.ProcessState.ExitCode()
}

const (
	ctrlC, ctrlD = "\x03", "\x04"
	arrowUp      = "\x1b[A"
)

// TestFollowAtPrompt has a conversation on a terminal: Ctrl-C ends a run and not
// the conversation.
func TestFollowAtPrompt(t *testing.T) {
	t.Parallel()
	c := e2etest.ServeShop(t, e2etest.NewModel(t,
		e2etest.Plans("for ever", "It takes a while.", "Wait for ever"), e2etest.ModelLine{Job: e2etest.QueryJob, Words: "for ever", Hang: true},
		e2etest.Plans("There are **4** orders.", "The same, for Berlin.", "Count the Berlin ones"),
		e2etest.Queries("Berlin ones", "", "SELECT count(*) AS n FROM orders WHERE city = 'Berlin'"), e2etest.Answers("And in Berlin", "There are **2**."),
		e2etest.Plans("How many", "One count will do.", "Count the orders"),
		e2etest.Queries("Count the orders", "", "SELECT count(*) AS n FROM orders"), e2etest.Answers("How many", "There are **4** orders."),
	).Env())
	at := onScreen(t, talk(c, "ask", "--follow"))
	at.sees("exit or Ctrl-D ends this")
	at.sees("alice/shop> ")
	at.types("something else" + ctrlC + "How many orders are there?\r")
	at.sees("planning")
	at.sees("One count will do.")
	at.sees("There are \x1b[1m4\x1b[22m orders.")
	at.sees("alice/shop> ")
	at.types("Wait for ever\r")
	at.sees("step 1 of 1: Wait for ever")
	at.types(ctrlC)
	at.sees("interrupted: the run is canceled")
	at.sees("alice/shop> ")
	at.types("And in Berlin?\r")
	at.sees("There are \x1b[1m2\x1b[22m.")
	at.sees("alice/shop> ")
	at.types(arrowUp)
	at.sees("And in Berlin?")
	at.types(ctrlC + ctrlD)
	at.sees("to go on with this conversation: parley ask --follow --namespace alice/shop --context ")
	if code := at.ends(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	list := tasks(c)
	if len(list) != 3 || list[0].ContextID != list[2].ContextID || list[1].ContextID != list[2].ContextID || list[1].State != "canceled" {
		t.Errorf("tasks: %+v", list)
	}
}

// TestFollowEnds ends a conversation in the middle of a run, which is canceled.
func TestFollowEnds(t *testing.T) {
	t.Parallel()
	c := e2etest.ServeShop(t, e2etest.NewModel(t,
		e2etest.Plans("for ever", "It takes a while.", "Wait for ever"), e2etest.ModelLine{Job: e2etest.QueryJob, Words: "for ever", Hang: true},
	).Env())
	for name, end := range map[string]syscall.Signal{"killed": syscall.SIGTERM, "its terminal closed": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			at := onScreen(t, talk(c, "ask", "--follow", "Wait for ever"))
			at.sees("step 1 of 1: Wait for ever")
			if err := at.cmd.Process.Signal(end); err != nil {
				t.Fatal(err)
			}
			if code := at.ends(); code != e2etest.ExitInterrupted {
				t.Errorf("exit code %d", code)
			}
			if list := tasks(c, "--limit", "1"); list[0].State != "canceled" {
				t.Errorf("tasks: %+v", list)
			}
		})
	}
}

// TestAskOnTerminal has the first Ctrl-C cancel the run.
func TestAskOnTerminal(t *testing.T) {
	t.Parallel()
	c := e2etest.ServeShop(t, e2etest.NewModel(t,
		e2etest.Plans("for ever", "It takes a while.", "Wait for ever"), e2etest.ModelLine{Job: e2etest.QueryJob, Words: "for ever", Hang: true},
		e2etest.Queries("List them", "", "SELECT id, 'a long text that a narrow terminal has no room for' AS text, city FROM orders"),
	).Env())
	at := onScreen(t, talk(c, "ask", "Wait for ever"))
	at.sees("step 1 of 1: Wait for ever")
	at.types(ctrlC)
	at.sees("interrupted: the run is canceled")
	if code := at.ends(); code != e2etest.ExitInterrupted {
		t.Errorf("exit code %d", code)
	}
	plain := talk(c, "ask", "--agent", "nl2ql", "List them")
	plain.Env = append(plain.Env, "NO_COLOR=1")
	at = onScreen(t, plain)
	at.sees("(4 rows)")
	if code := at.ends(); code != e2etest.ExitOK || strings.Contains(at.seen.String(), "\x1b[1m") {
		t.Errorf("exit code %d, %q", code, at.seen.String())
	}
	at = onScreen(t, talk(c, "tasks"))
	at.sees("\r\n  List them")
	at.sees("canceled")
	at.sees("\r\n  Wait for ever")
	if code := at.ends(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	at = onScreen(t, talk(c, "ask"))
	at.sees("QUESTION is missing")
	if code := at.ends(); code != e2etest.ExitUsage {
		t.Errorf("exit code %d", code)
	}
}

// TestFollowPipe has questions come line by line.
func TestFollowPipe(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t)
	got := typed(t, talk(c, "ask", "--follow", "--agent", "nl2ql", "How many orders are there?"), "\nHow many orders are there in Paris?\nexit\nHow many orders?\n")
	if want := "count\n-----\n    3\n(1 row)\ncount\n-----\n    1\n(1 row)\n"; got.Code != e2etest.ExitOK || got.Stdout != want {
		t.Errorf("got %+v", got)
	}
	got = typed(t, talk(c, "ask", "--follow", "--json"), "How many orders are there?\nWhat is the weather on Mars?\n")
	if got.Code != e2etest.ExitNoAnswer || strings.Count(got.Stdout, "\n") != 2 || !strings.Contains(got.Stderr, "no answer to 1 of 2 questions") {
		t.Errorf("got %+v", got)
	}
	if list := tasks(c, "--limit", "2"); list[0].ContextID != list[1].ContextID {
		t.Errorf("tasks: %+v", list)
	}
}

// TestLongQuestion refuses what would have to be cut.
func TestLongQuestion(t *testing.T) {
	t.Parallel()
	cmd := e2etest.Command(t, t.TempDir(), []string{"PARLEY_TOKEN=x"}, "ask", "--namespace", "shop", "-")
	if got := typed(t, cmd, strings.Repeat("a", 1<<20+1)); got.Code != e2etest.ExitUsage || !strings.Contains(got.Stderr, "QUESTION is longer than 1048576 bytes") {
		t.Errorf("got %+v", got)
	}
}
