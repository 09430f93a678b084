package main

import (
	"fmt"
	"runtime"

	"parley/cmd/parley/internal/command"
)

// version is set when a release is built.
var version = "dev"

// versionCmd is `parley version`.
type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(env command.Env) error {
	_, err := fmt.Fprintf(env.Stdout, "parley %s %s %s/%s\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
