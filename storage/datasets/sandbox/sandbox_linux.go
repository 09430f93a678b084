package sandbox

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nobody is the user and group of query workers when the server is root.
const nobody = 65534

// confine restricts the calling thread for good, and so the worker that it starts: it can
// read its files and the system's libraries, run the executable, use its folder if it
// ingests, and open no socket. lacks names what the kernel does not offer.
func confine(spec Spec) (lacks []string, err error) {
	if spec.Dir != "" {
		dropCapabilities()
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return []string{"no_new_privs"}, nil
	}
	paths := map[string]uint64{spec.Path: execute | readFile}
	for _, path := range libraries {
		paths[path] = execute | readFile | readDir
	}
	for _, path := range facts {
		paths[path] = readFile
	}
	paths[spec.Tables], paths[spec.Programs] = readFile, readFile
	for _, path := range spec.Sources {
		paths[path] = readFile
	}
	if spec.Dir != "" {
		paths[spec.Dir] = useFolder
	}
	switch err := confineFiles(paths); {
	case errors.Is(err, errNoLandlock):
		lacks = append(lacks, "landlock")
	case err != nil:
		return lacks, fmt.Errorf("restrict files: %w", err)
	}
	if err := denySyscalls(denied); err != nil {
		lacks = append(lacks, "seccomp")
	}
	return lacks, nil
}

// dropCapabilities drops root's capabilities but those to access files of any user. It fails
// without effect for other users, who have none.
func dropCapabilities() {
	for power := range uintptr(64) {
		if power != unix.CAP_DAC_OVERRIDE && power != unix.CAP_DAC_READ_SEARCH {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0)
		}
	}
}

// errNoLandlock says that the system does not offer Landlock.
var errNoLandlock = errors.New("no landlock")

// ConfineThread restricts the thread that runs queries, and those that it starts, further
// once DuckDB is open: they can only read files in a folder, and run no program.
func ConfineThread(dir string) error {
	if err := confineFiles(map[string]uint64{dir: readFile}); err != nil && !errors.Is(err, errNoLandlock) {
		return err
	}
	// Where this fails, confine has named seccomp as missing.
	_ = denySyscalls([]uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT})
	return nil
}

var (
	// libraries are what the loader of a dynamic executable reads.
	libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"}
	// facts are system files that DuckDB reads when it opens; it ends the process when it
	// cannot.
	facts = []string{"/proc", "/sys/fs/cgroup"}
)

type landlockRuleset struct{ fs, net, scoped uint64 }

// pathBeneath is packed in the kernel's header: it has no padding at its end.
type pathBeneath struct {
	access   uint64
	parentFD int32
}

const (
	readFile = unix.LANDLOCK_ACCESS_FS_READ_FILE
	readDir  = unix.LANDLOCK_ACCESS_FS_READ_DIR
	execute  = unix.LANDLOCK_ACCESS_FS_EXECUTE
	// useFolder is to make, read, write, rename and remove files and folders.
	useFolder = readFile | readDir | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_REMOVE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR
)

// confineFiles denies the calling thread all use of files but the given rights on paths. It
// ignores missing paths.
func confineFiles(paths map[string]uint64) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errNoLandlock
	}
	// Each version of the interface has more rights; deny all of them.
	rules, size := landlockRuleset{fs: 1<<13 - 1}, uintptr(8)
	if abi >= 2 {
		rules.fs |= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi >= 3 {
		rules.fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= 4 {
		rules.net, size = unix.LANDLOCK_ACCESS_NET_BIND_TCP|unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, 16
	}
	if abi >= 5 {
		rules.fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= 6 {
		rules.scoped, size = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET|unix.LANDLOCK_SCOPE_SIGNAL, 24
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&rules)), size, 0)
	if errno != 0 {
		return errno
	}
	defer unix.Close(int(fd))
	for path, access := range paths {
		if access&unix.LANDLOCK_ACCESS_FS_REFER > rules.fs&unix.LANDLOCK_ACCESS_FS_REFER {
			return errNoLandlock // the first version lets nobody move a file to another folder
		}
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if !info.IsDir() {
			access &^= readDir
		}
		if err := allow(int(fd), path, access&rules.fs); err != nil {
			return fmt.Errorf("allow %s: %w", path, err)
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func allow(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	rule := pathBeneath{access, int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	runtime.KeepAlive(&rule)
	if errno != 0 {
		return errno
	}
	return nil
}

// processAttributes are the ways to start a worker, best first. An ingest worker keeps the
// server's user, who owns its files.
func processAttributes(spec Spec) []attributes {
	base := syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		// Landlock and seccomp need no root.
		return []attributes{{sys: base}}
	}
	alone, offline := base, base
	alone.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	offline.Cloneflags = syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC
	if spec.Dir != "" {
		return []attributes{{sys: offline}, {sys: base, lacks: []string{"network namespace"}}}
	}
	both := alone
	both.Cloneflags = offline.Cloneflags
	return []attributes{
		{sys: both},
		{sys: alone, lacks: []string{"network namespace"}},
		{sys: offline, lacks: []string{"another uid"}},
		{sys: base, lacks: []string{"network namespace", "another uid"}},
	}
}

// Apply sets the limits of the calling process, a query worker before it opens DuckDB. The
// server cannot: a root without all capabilities may not limit another user's process.
func (l Limits) Apply() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("get the limit of open files: %w", err)
	}
	set := map[int]uint64{
		unix.RLIMIT_CORE:  0,
		unix.RLIMIT_FSIZE: 0,
		// DuckDB opens all files of a table to read it.
		unix.RLIMIT_NOFILE: min(files.Max, 64+4*MaxFiles),
	}
	if l.AddressSpace > 0 {
		set[unix.RLIMIT_AS] = l.AddressSpace
	}
	for which, limit := range set {
		if err := unix.Setrlimit(which, &unix.Rlimit{Cur: limit, Max: limit}); err != nil {
			return fmt.Errorf("set limit %d: %w", which, err)
		}
	}
	return nil
}

// LimitCPU limits the further processor time of the calling process. It stops a query when
// the server hangs.
func LimitCPU(more time.Duration) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	limit := uint64(used.Utime.Sec+used.Stime.Sec) + uint64(more/time.Second) + 2
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: limit, Max: unix.RLIM_INFINITY})
}

// setOOMScore makes the kernel kill a worker first when the machine runs out of memory.
func setOOMScore(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
}

// addressSpace returns the bytes of address space that a process has.
func addressSpace(pid int) (uint64, error) {
	size, _, err := memoryOf(pid)
	return size, err
}

// residentMemory returns the bytes of a process that are in memory, 0 if it has ended.
func residentMemory(pid int) int64 {
	_, resident, _ := memoryOf(pid)
	return int64(resident)
}

func memoryOf(pid int) (size, resident uint64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(string(data), &size, &resident); err != nil {
		return 0, 0, fmt.Errorf("read the size of a worker: %w", err)
	}
	page := uint64(os.Getpagesize())
	return size * page, resident * page, nil
}

// processorTime returns what a process has used of all processors.
func processorTime(pid int) time.Duration {
	var used unix.Timespec
	// This is what clock_getcpuclockid returns.
	const cpuClockSched = 2
	if err := unix.ClockGettime(int32(^pid)<<3|cpuClockSched, &used); err != nil {
		return time.Since(loaded)
	}
	return time.Duration(used.Nano())
}

// killGroup ends the processes of a worker's group.
func killGroup(pid int) { _ = unix.Kill(-pid, unix.SIGKILL) }

// lowerPriority returns all threads of a worker, which are those of its group, a lower priority
// than this process has.
func lowerPriority(pid int) {
	if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil { // 20 less the nice value
		_ = unix.Setpriority(unix.PRIO_PGRP, pid, min(20-own+10, 19))
	}
}

// waitExit waits until a worker has ended, and keeps its exit status and so its PID. It is false
// where that is not possible.
func waitExit(pid int) bool { return waitID(pid, 0) }

// canWaitExit reports whether waitExit is possible.
func canWaitExit(pid int) bool { return waitID(pid, unix.WNOHANG) }

func waitID(pid, options int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT|options, nil)
		if err != unix.EINTR {
			return err == nil
		}
	}
}

// markInherited sets close-on-exec on every descriptor of this process.
func markInherited() error {
	if unix.CloseRange(protocolFD, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC) == nil {
		return nil
	}
	return markDescriptors()
}

// openFolder opens a folder for a worker to inherit.
func openFolder(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open a worker's folder: %w", err)
	}
	return os.NewFile(uintptr(fd), path), nil
}

// folderInWorker is the path of the inherited folder in a worker, who needs no access to
// the folders above it.
func folderInWorker(string) string { return fmt.Sprintf("/proc/self/fd/%d", tablesFD) }

// LimitIngest limits the calling process, an ingest worker: no core file, bounded memory.
func LimitIngest(memory int64, threads int) error {
	// The limit of a file's size gives an error instead of a signal.
	signal.Ignore(unix.SIGXFSZ)
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return err
	}
	if RaceEnabled {
		return nil
	}
	size, err := addressSpace(os.Getpid())
	if err != nil {
		return err
	}
	// Go collects garbage before the server ends the process for it.
	debug.SetMemoryLimit(MaxIngestMemory / 2)
	limit := size + addressBudget(memory, threads)
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit})
}

// LimitFileSize limits the files that the calling process, an ingest worker, writes.
func LimitFileSize(bytes int64) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	limit.Cur = min(uint64(max(bytes, 0)), limit.Max)
	return unix.Setrlimit(unix.RLIMIT_FSIZE, &limit)
}

// onMainThread reports whether the caller runs on the first thread of the process.
func onMainThread() bool { return unix.Gettid() == unix.Getpid() }
