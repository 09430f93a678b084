package serve

import (
	"math"
	"testing"
	"testing/fstest"
)

// TestMemoryLimit reads the limits of machines and of control groups of both versions.
func TestMemoryLimit(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	machine := "MemTotal:       25165824 kB\nMemFree:        1024 kB\n" // 24 GiB
	for name, test := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"unknown":    {nil, math.MaxInt64},
		"machine":    {map[string]string{"proc/meminfo": machine}, 6 * gib},
		"small":      {map[string]string{"proc/meminfo": "MemTotal: 1048576 kB\n"}, 512 << 20},
		"no limit":   {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "max\n"}, 6 * gib},
		"container":  {map[string]string{"proc/meminfo": machine, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "8589934592\n"}, 2 * gib},
		"outer path": {map[string]string{"proc/self/cgroup": "0::/kubepods/pod1/c1\n", "sys/fs/cgroup/memory.max": "8589934592\n"}, 2 * gib},
		"group above": {map[string]string{
			"proc/self/cgroup": "0::/a.slice/parley.service\n", "sys/fs/cgroup/a.slice/parley.service/memory.max": "max\n",
			"sys/fs/cgroup/a.slice/memory.max": "4294967296\n",
		}, gib},
		"version 1": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "3:cpu,cpuacct:/x\n2:memory:/docker/c1\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "8589934592\n",
		}, 2 * gib},
		"version 1 without limit": {map[string]string{
			"proc/meminfo": machine, "proc/self/cgroup": "2:memory:/\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
		}, 6 * gib},
	} {
		root := fstest.MapFS{}
		for path, content := range test.files {
			root[path] = &fstest.MapFile{Data: []byte(content)}
		}
		if got := memoryLimit(root); got != test.want {
			t.Errorf("%s: got %d, want %d", name, got, test.want)
		}
	}
}
