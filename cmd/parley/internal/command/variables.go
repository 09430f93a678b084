package command

import (
	"strings"

	"github.com/alecthomas/kong"
)

// UnknownVariables returns the PARLEY_ variables that are no setting of any command,
// perhaps misspelt.
func UnknownVariables(model *kong.Application, environ []string) []string {
	known := map[string]bool{}
	for _, node := range nodes(model) {
		for _, flag := range node.Flags {
			for _, variable := range flag.Envs {
				known[variable] = true
			}
		}
	}
	var unknown []string
	for _, setting := range environ {
		name, _, _ := strings.Cut(setting, "=")
		if strings.HasPrefix(name, "PARLEY_") && !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown
}

// nodes are the commands and the application.
func nodes(model *kong.Application) []*kong.Node {
	return append(append([]*kong.Node{}, model.Children...), model.Node)
}
