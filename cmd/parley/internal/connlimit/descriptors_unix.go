//go:build unix

package connlimit

import "syscall"

// descriptorLimit is how many descriptors the process may have.
func descriptorLimit() uint64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return limit.Cur
}
