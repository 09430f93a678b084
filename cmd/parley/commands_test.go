package main

import (
	"slices"
	"testing"

	"github.com/alecthomas/kong"
)

// TestVariables has what is said for this once not come from the environment.
func TestVariables(t *testing.T) {
	t.Parallel()
	settings := []string{"PARLEY_SERVER", "PARLEY_TOKEN", "PARLEY_NAMESPACE", "PARLEY_PROVIDER", "PARLEY_MODEL"}
	for _, name := range []string{"ask", "tasks", "cancel", "ingest", "query", "datasets", "describe", "head", "download", "rename", "delete", "share", "tokens list", "tokens create", "tokens revoke", "open", "card"} {
		for _, flag := range commands(t)[name].Flags {
			for _, variable := range flag.Envs {
				if !slices.Contains(settings, variable) {
					t.Errorf("%s sets --%s of parley %s", variable, flag.Name, name)
				}
			}
		}
	}
}

// commands gives the program's commands by their names.
func commands(t *testing.T) map[string]*kong.Node {
	t.Helper()
	parser, err := kong.New(&cli{}, kong.DefaultEnvars("PARLEY"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]*kong.Node{}
	for _, node := range parser.Model.Children {
		all[node.Name] = node
		for _, below := range node.Children {
			all[node.Name+" "+below.Name] = below
		}
	}
	return all
}
