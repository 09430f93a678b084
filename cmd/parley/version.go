package main

import (
	"fmt"
	"runtime"
)

// version is set when a release is built.
var version = "dev"

// versionCmd is `parley version`.
type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(out output) error {
	_, err := fmt.Fprintf(out.stdout, "parley %s %s %s/%s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
