package cli

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
	"parley/cmd/parley/e2e/helpers/fulltest"
	"parley/cmd/parley/e2e/helpers/servertest"
)

// installed puts the program into a folder as parley, and gives the environment
// in which a shell finds it there.
func installed(c e2etest.Client) []string {
	c.T.Helper()
	dir := c.T.TempDir()
	self := e2etest.Command(c.T, c.Dir, nil)
	if err := exec.Command("ln", "-s", self.Path, filepath.Join(dir, "parley")).Run(); err != nil {
		c.T.Fatal(err)
	}
	return append(self.Env, "PATH="+dir+":/usr/bin:/bin", "PARLEY_SERVER="+c.URL, "PARLEY_TOKEN="+c.Token, "HOME="+dir)
}

// TestCompletion has each shell complete words, as it does for its user.
func TestCompletion(t *testing.T) {
	fulltest.Only(t)
	t.Parallel()
	c := e2etest.Shop(t)
	c.NewDataset("other", "things")
	env := installed(c)
	for shell, script := range map[string]string{
		"bash": `source <(parley completion bash)
			COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _parley; printf '%s\n' "${COMPREPLY[@]}"`,
		// What zsh's own part of it would show is printed instead.
		"zsh": `compdef() { :; }; source <(parley completion zsh)
			_describe() { printf '%s\n' "${found[@]%%:*}"; }; _files() { print; }
			words=("$@"); CURRENT=$#; _parley`,
		"fish": `parley completion fish | source
			complete --do-complete (string join ' ' -- $argv) | string replace -r '\t.*' ''; true`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(shell)
			if err != nil {
				servertest.Lacking(t, "this test needs %s: %v", shell, err)
			}
			for words, want := range map[string][]string{
				"parley ta":                 {"tasks"},
				"parley ask --ag":           {"--agent"},
				"parley ask --agent ":       {"assistant", "nl2ql"},
				"parley ask --agent n":      {"nl2ql"},
				"parley completion z":       {"zsh"},
				"parley share --role e":     {"editor"},
				"parley ingest --mode ":     {"append", "replace"},
				"parley ask --namespace ":   {"alice/other", "alice/shop"},
				"parley ask --namespace al": {"alice/other", "alice/shop"},
				"parley ask --follow --age": {"--agent"},
				"parley ask -n ":            {"alice/other", "alice/shop"},
				"parley ask -n sh":          {"shop"},
				"parley query -f nd":        {"ndjson"},
				"parley head shop/":         {"shop/orders"},
				"parley head sh":            {"shop", "shop/orders"},
				"parley head alice/shop/":   {"alice/shop/orders"},
				"parley describe other/t":   {"other/things"},
			} {
				args := strings.Split(words, " ")
				switch shell {
				case "fish":
					args = append([]string{"-c", script, "--"}, args...)
				default:
					args = append([]string{"-c", script, shell}, args...)
				}
				cmd := exec.CommandContext(t.Context(), path, args...)
				cmd.Env = env
				text, err := cmd.CombinedOutput()
				got := strings.Fields(string(text))
				slices.Sort(got)
				if err != nil || !slices.Equal(got, want) {
					t.Errorf("%q: %q, %v", words, text, err)
				}
			}
		})
	}
}

// A shell that asks in vain is told nothing, and quickly.
func TestCompletionWithoutServer(t *testing.T) {
	t.Parallel()
	for name, env := range map[string][]string{
		"nobody there": {"PARLEY_SERVER=http://127.0.0.1:1", "PARLEY_TOKEN=x.y.z"},
		"no token":     nil,
	} {
		if got := e2etest.RunCommand(t, t.TempDir(), env, "__complete", "ask", "--namespace", ""); got != (e2etest.Result{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := e2etest.RunCommand(t, t.TempDir(), nil, "__complete", "nonsense", ""); got != (e2etest.Result{}) {
		t.Errorf("an unknown command: %+v", got)
	}
	if got := e2etest.RunCommand(t, t.TempDir(), nil, "completion", "csh"); got.Code != e2etest.ExitUsage || !strings.Contains(got.Stderr, "bash") {
		t.Errorf("an unknown shell: %+v", got)
	}
}
