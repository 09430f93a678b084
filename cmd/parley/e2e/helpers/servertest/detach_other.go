//go:build !unix

package servertest

import "os/exec"

func detach(*exec.Cmd) {}
