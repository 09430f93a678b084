package main

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// installed puts the program into a folder as parley, and gives the environment
// in which a shell finds it there.
func (c client) installed() []string {
	c.t.Helper()
	dir := c.t.TempDir()
	self := command(c.t, c.dir, nil)
	if err := exec.Command("ln", "-s", self.Path, filepath.Join(dir, "parley")).Run(); err != nil {
		c.t.Fatal(err)
	}
	return append(self.Env, "PATH="+dir+":/usr/bin:/bin", "PARLEY_SERVER="+c.url, "PARLEY_TOKEN="+c.token, "HOME="+dir)
}

// TestCompletion has each shell complete words, as it does for its user.
func TestCompletion(t *testing.T) {
	t.Parallel()
	c := shop(t)
	c.newDataset("other", "things")
	env := c.installed()
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
				lacking(t, "this test needs %s: %v", shell, err)
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
		if got := runCommand(t, t.TempDir(), env, "__complete", "ask", "--namespace", ""); got != (result{}) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := runCommand(t, t.TempDir(), nil, "__complete", "nonsense", ""); got != (result{}) {
		t.Errorf("an unknown command: %+v", got)
	}
	if got := runCommand(t, t.TempDir(), nil, "completion", "csh"); got.code != exitUsage || !strings.Contains(got.stderr, "bash") {
		t.Errorf("an unknown shell: %+v", got)
	}
}
