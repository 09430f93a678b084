//go:build parleytest && unix

package serve

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// The end-to-end tests build the program with this file. Variables of the
// environment, which no other build reads, then change what cannot be changed from
// outside: the clock, how large the files are that the program may write, how many
// descriptors it may have, its umask, and how long its runs wait for another process when it has died.
func init() {
	if path := os.Getenv("RUN_WITH_CLOCK"); path != "" {
		now = func() time.Time { return time.Now().Round(0).Add(clockOffset(path)) }
	}
	if size := os.Getenv("RUN_WITH_FILE_LIMIT"); size != "" {
		limitFileSize(size)
	}
	if text := os.Getenv("RUN_WITH_DESCRIPTORS"); text != "" {
		limitDescriptors(text)
	}
	if mask, err := strconv.ParseInt(os.Getenv("RUN_WITH_UMASK"), 8, 0); err == nil {
		syscall.Umask(int(mask))
	}
	if lease := os.Getenv("RUN_WITH_HOST_LEASE"); lease != "" {
		hostLease = duration(lease)
	}
}

// clockOffset reads by how much the clock is off, at this moment.
func clockOffset(path string) time.Duration {
	text, err := os.ReadFile(path)
	if err != nil {
		panic(err)
	}
	return duration(string(text))
}

func duration(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		panic(err)
	}
	return d
}

// limitFileSize sets the soft limit, in bytes.
func limitFileSize(text string) {
	var limit syscall.Rlimit
	size, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		err = syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	}
	if err == nil {
		limit.Cur = size
		err = syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
	}
	if err != nil {
		panic(fmt.Errorf("limit the size of files: %w", err))
	}
}

// limitDescriptors sets the limit for good.
func limitDescriptors(text string) {
	limit, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		err = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: limit, Max: limit})
	}
	if err != nil {
		panic(fmt.Errorf("limit descriptors: %w", err))
	}
}
