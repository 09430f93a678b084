//go:build unix

package servertest

import (
	"os/exec"
	"syscall"
)

// detach returns the script a session of its own, so that what is aimed at the
// tests' terminal or process group does not end it before it has cleaned up.
func detach(script *exec.Cmd) {
	if script.SysProcAttr == nil {
		script.SysProcAttr = &syscall.SysProcAttr{}
	}
	script.SysProcAttr.Setsid = true
}
