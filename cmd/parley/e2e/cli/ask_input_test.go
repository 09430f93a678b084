package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/golden"
)

// workshop starts a server with data whose questions have two readings.
func workshop(t *testing.T) e2etest.Client {
	t.Helper()
	p := e2etest.Serve(t, t.TempDir(), nil)
	c := e2etest.Client{Process: p, Token: p.Token("alice")}
	c.NewWorkshop()
	return c
}

// TestGoldenAskedBack shows what is printed where nobody can be asked: a script gets the
// question and an exit code of its own.
func TestGoldenAskedBack(t *testing.T) {
	t.Parallel()
	c := workshop(t)
	for name, args := range map[string][]string{
		"assistant":            {"--min-confidence", "0.7", e2etest.WhichDate},
		"nl2ql":                {"--min-confidence", "0.7", "--agent", "nl2ql", e2etest.WhichDate},
		"json":                 {"--min-confidence", "0.7", "--json", e2etest.WhichDate},
		"likely":               {e2etest.WhichDate},
		"likely-nl2ql":         {"--agent", "nl2ql", e2etest.WhichDate},
		"likely-json":          {"--json", e2etest.WhichDate},
		"min-confidence":       {"--min-confidence", "1.2", e2etest.WhichDate},
		"never-ask":            {"--never-ask", e2etest.WhichDate},
		"never-ask-nl2ql":      {"--never-ask", "--agent", "nl2ql", e2etest.WhichDate},
		"never-ask-nl2ql-json": {"--never-ask", "--agent", "nl2ql", "--json", e2etest.WhichDate},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := typed(t, talk(c, append([]string{"ask"}, args...)...), "")
			text := fmt.Sprintf("%q\nexit code %d\n--- stdout\n%s--- stderr\n%s", args, got.Code, got.Stdout, got.Stderr)
			golden.Assert(t, "ask-input/"+name+".txt", golden.Scrub([]byte(e2etest.ScrubConfidence(text))))
		})
	}
}

// TestAnswerLater answers in the conversation what an earlier command was asked.
func TestAnswerLater(t *testing.T) {
	t.Parallel()
	c := workshop(t)
	for _, agent := range []string{"assistant", "nl2ql"} {
		asked := typed(t, talk(c, "ask", "--min-confidence", "0.7", "--agent", agent, "--json", e2etest.WhichDate), "")
		var report struct {
			TaskID, ContextID, State string
			InputRequired            struct{ Options []struct{ ID, Label string } }
		}
		if err := json.Unmarshal([]byte(asked.Stdout), &report); err != nil || asked.Code != e2etest.ExitInput || report.State != "input-required" || len(report.InputRequired.Options) != 2 {
			t.Fatalf("asked: %+v, %v", asked, err)
		}
		if shown := typed(t, talk(c, "tasks", report.TaskID), ""); shown.Code != e2etest.ExitOK || !strings.Contains(shown.Stdout, "Which do you mean?") || !strings.Contains(shown.Stdout, "input-required") {
			t.Errorf("the task: %+v", shown)
		}
		wrong := typed(t, talk(c, "ask", "--agent", agent, "--context", report.ContextID, "neither"), "")
		if wrong.Code != e2etest.ExitInput || !strings.Contains(wrong.Stdout, "not one of the options") {
			t.Errorf("a wrong answer: %+v", wrong)
		}
		answered := typed(t, talk(c, "ask", "--agent", agent, "--json", "--context", report.ContextID, "done in 2025"), "")
		if answered.Code != e2etest.ExitOK || !strings.Contains(answered.Stdout, `"taskId":"`+report.TaskID+`"`) || !strings.Contains(answered.Stdout, `"count":3`) {
			t.Errorf("answered: %+v", answered)
		}
	}
}

// TestChooseReading chooses another reading than that of a likely answer, in its conversation.
func TestChooseReading(t *testing.T) {
	t.Parallel()
	c := workshop(t)
	for _, agent := range []string{"assistant", "nl2ql"} {
		got := typed(t, talk(c, "ask", "--follow", "--json", "--agent", agent), e2etest.WhichDate+"\n1\nHow many of them did Ada have?\n")
		var lines []string
		for line := range strings.Lines(got.Stdout) {
			lines = append(lines, line)
		}
		if got.Code != e2etest.ExitOK || len(lines) != 3 || !strings.Contains(lines[0], `"certainty":"likely","alternatives":[{"id":"1",`) ||
			!strings.Contains(lines[1], `"certainty":"sure"`) || !strings.Contains(lines[1], "done") || !strings.Contains(lines[2], "done") {
			t.Errorf("%s: %+v", agent, got)
		}
	}
}

// TestAskedBackOnTerminal answers at a prompt.
func TestAskedBackOnTerminal(t *testing.T) {
	t.Parallel()
	c := workshop(t)
	at := onScreen(t, talk(c, "ask", "--min-confidence", "0.7", "--agent", "nl2ql", e2etest.WhichDate))
	at.sees("Which do you mean?")
	at.sees("1. number of work orders with")
	at.sees("answer> ")
	at.types("\r")
	at.sees("answer> ")
	at.types("neither\r")
	at.sees("That is not one of the options.")
	at.sees("answer> ")
	at.types("done in 2025\r")
	at.sees("    3")
	at.sees("(1 row)")
	if code := at.ends(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
	// Ctrl-D leaves the question open.
	at = onScreen(t, talk(c, "ask", "--min-confidence", "0.7", e2etest.WhichDate))
	at.sees("answer> ")
	at.types(ctrlD)
	at.sees("to answer: parley ask --namespace alice/workshop --context ")
	if code := at.ends(); code != e2etest.ExitInput {
		t.Errorf("exit code %d", code)
	}
	if task := tasks(c)[0]; task.State != "input-required" {
		t.Errorf("left open: %+v", task)
	}
}

// TestAskedBackInConversation leaves a question that is not answered behind: what is asked
// next is not taken for the answer.
func TestAskedBackInConversation(t *testing.T) {
	t.Parallel()
	c := workshop(t)
	got := typed(t, talk(c, "ask", "--min-confidence", "0.7", "--follow", "--agent", "nl2ql"), e2etest.WhichDate+"\nHow many work orders are there?\n")
	if got.Code != e2etest.ExitNoAnswer || !strings.Contains(got.Stdout, "Which do you mean?") || !strings.Contains(got.Stdout, "    4\n") {
		t.Errorf("line by line: %+v", got)
	}
	at := onScreen(t, talk(c, "ask", "--min-confidence", "0.7", "--follow", "--agent", "nl2ql", e2etest.WhichDate))
	at.sees("answer> ")
	at.types("the second\r")
	at.sees("(1 row)")
	at.sees("alice/workshop> ")
	at.types(e2etest.WhichDate + "\r")
	at.sees("answer> ")
	at.types(ctrlD)
	at.sees("the run is canceled")
	at.sees("alice/workshop> ")
	at.types("How many work orders are there?\r")
	at.sees("    4")
	at.sees("alice/workshop> ")
	at.types("exit\r")
	if code := at.ends(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
}
