package docs

import (
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// TestVariables has what is said for this once not come from the environment.
func TestVariables(t *testing.T) {
	t.Parallel()
	settings := []string{"PARLEY_SERVER", "PARLEY_TOKEN", "PARLEY_NAMESPACE", "PARLEY_PROVIDER", "PARLEY_MODEL"}
	have := commands(t)
	for _, name := range []string{"ask", "tasks", "cancel", "ingest", "query", "datasets", "describe", "head", "download", "rename", "delete", "share", "tokens list", "tokens create", "tokens revoke", "open", "mcp", "card"} {
		if len(have[name]) == 0 {
			t.Errorf("parley %s has no flags", name)
		}
		for _, flag := range have[name] {
			for _, variable := range flag.variables {
				if !slices.Contains(settings, variable) && !(name == "mcp" && (strings.HasPrefix(variable, "PARLEY_LLM") || variable == "PARLEY_READER_FIRST")) { // it can serve
					t.Errorf("%s sets %s of parley %s", variable, flag.name, name)
				}
			}
		}
	}
}

// flag is a flag of a command, with the variables that set it.
type flag struct {
	name      string
	variables []string
}

var (
	// helpCommand finds a command in the help of the program.
	helpCommand = regexp.MustCompile(`(?m)^  ([a-z][a-z0-9-]*(?: [a-z][a-z0-9-]*)*)(?: [<\[].*)?$`)
	// helpFlag finds where a flag begins in the help of a command.
	helpFlag     = regexp.MustCompile(`(?m)^  (?:-\w, |    )?(--[a-z][a-z-]*)`)
	helpVariable = regexp.MustCompile(`\$([A-Z][A-Z0-9_]+)`)

	helpOnce     sync.Once
	helpCommands map[string][]flag
)

// commands returns the flags of the program's commands and groups of commands by their names,
// as the help has them.
func commands(t *testing.T) map[string][]flag {
	t.Helper()
	helpOnce.Do(func() {
		all := map[string][]flag{}
		_, commands, _ := strings.Cut(help(t), "\nCommands:\n")
		for _, found := range helpCommand.FindAllStringSubmatch(commands, -1) {
			name := found[1]
			if group, _, is := strings.Cut(name, " "); is {
				all[group] = nil
			}
			all[name] = flags(help(t, strings.Fields(name)...))
		}
		helpCommands = all
	})
	if len(helpCommands) < 25 {
		t.Fatalf("the help lists %d commands", len(helpCommands))
	}
	return helpCommands
}

// flags reads the flags of a command from its help.
func flags(text string) (all []flag) {
	starts := helpFlag.FindAllStringSubmatchIndex(text, -1)
	for i, at := range starts {
		end := len(text)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		one := flag{name: text[at[2]:at[3]]}
		for _, found := range helpVariable.FindAllStringSubmatch(text[at[3]:end], -1) {
			one.variables = append(one.variables, found[1])
		}
		all = append(all, one)
	}
	return all
}

// help returns the help of a command.
func help(t *testing.T, command ...string) string {
	t.Helper()
	out, err := e2etest.Command(t, t.TempDir(), nil, append(command, "--help")...).Output()
	if err != nil {
		t.Fatalf("parley %s --help: %v", strings.Join(command, " "), err)
	}
	return string(out)
}
