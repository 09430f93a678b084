//go:build unix

package servertest

import (
	"fmt"
	"os"
	"syscall"
)

// claim refuses a folder in which others could put a program for us to run.
func claim(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() || stat.Uid != uint32(os.Geteuid()) || info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("%s is not a folder that this user alone can write to", dir)
	}
	return nil
}
