package serve

import (
	"io/fs"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent is high because the live heap is small and most memory of a request is
// short-lived. The memory limit makes the collector run more often before the heap takes
// what the workers need: it is a quarter of the memory, at least minMemoryLimit.
const (
	gcPercent      = 400
	minMemoryLimit = 512 << 20
)

// tuneMemory sets the garbage collector, unless Go's own variables do.
func tuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit(os.DirFS("/")))
	}
}

// memoryLimit returns the limit for Go's memory. Above the limit, the collector takes up to
// half of the processors, so it must be well above the live heap of a busy server. Without
// a known size of the memory there is no limit.
func memoryLimit(root fs.FS) int64 {
	memory := min(machineMemory(root), cgroupMemory(root))
	if memory == math.MaxInt64 {
		return memory
	}
	return max(memory/4, minMemoryLimit)
}

// machineMemory returns the memory of the machine on Linux, in bytes.
func machineMemory(root fs.FS) int64 {
	info, _ := fs.ReadFile(root, "proc/meminfo")
	for line := range strings.Lines(string(info)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "MemTotal:" {
			return min(parseLimit(fields[1]), math.MaxInt64>>10) << 10
		}
	}
	return math.MaxInt64
}

// cgroupMemory returns the least memory limit of the process's control groups and those
// above them, of version 1 or 2. In a container, the paths can be those outside of it; its
// own group is then the mounted root.
func cgroupMemory(root fs.FS) int64 {
	limit := int64(math.MaxInt64)
	groups, _ := fs.ReadFile(root, "proc/self/cgroup")
	for line := range strings.Lines(string(groups)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 {
			continue
		}
		mount, file := "sys/fs/cgroup", "memory.max"
		switch {
		case fields[1] == "memory":
			mount, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		case fields[1] != "":
			continue
		}
		for group := path.Join("/", fields[2]); ; group = path.Dir(group) {
			if text, err := fs.ReadFile(root, path.Join(mount, group, file)); err == nil {
				limit = min(limit, parseLimit(strings.TrimSpace(string(text))))
			}
			if group == "/" {
				break
			}
		}
	}
	return limit
}

// parseLimit returns the largest number for "max", and for what is no limit.
func parseLimit(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return math.MaxInt64
	}
	return n
}
