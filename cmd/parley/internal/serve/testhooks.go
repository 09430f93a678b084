//go:build parleytest && unix

package serve

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"syscall"
	"time"
)

// The end-to-end tests build the program with this file. Environment variables, which
// no other build reads, then set the clock, the limits of file size and of descriptors,
// the umask, and limits.
func init() {
	if path := os.Getenv("RUN_WITH_CLOCK"); path != "" {
		now = func() time.Time { return time.Now().Round(0).Add(clockOffset(path)) }
	}
	if size := os.Getenv("RUN_WITH_FILE_LIMIT"); size != "" {
		limit(syscall.RLIMIT_FSIZE, size, false)
	}
	if text := os.Getenv("RUN_WITH_DESCRIPTORS"); text != "" {
		limit(syscall.RLIMIT_NOFILE, text, true)
	}
	if mask, err := strconv.ParseInt(os.Getenv("RUN_WITH_UMASK"), 8, 0); err == nil {
		syscall.Umask(int(mask))
	}
	if changed := os.Getenv("RUN_WITH_LIMITS"); changed != "" {
		if err := json.Unmarshal([]byte(changed), &limits); err != nil {
			panic(err)
		}
	}
}

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

// limit sets the soft limit of a resource or, with hard, both limits for good.
func limit(resource int, text string, hard bool) {
	var limits syscall.Rlimit
	value, err := strconv.ParseUint(text, 10, 64)
	if err == nil {
		err = syscall.Getrlimit(resource, &limits)
	}
	if limits.Cur = value; hard {
		limits.Max = value
	}
	if err == nil {
		err = syscall.Setrlimit(resource, &limits)
	}
	if err != nil {
		panic(fmt.Errorf("set resource limit %d: %w", resource, err))
	}
}
