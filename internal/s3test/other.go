//go:build !unix

package s3test

import "os/exec"

func detach(*exec.Cmd) error { return errNoServer }

func claim(string) error { return errNoServer }

func lock(string) (func(), error) { return nil, errNoServer }
