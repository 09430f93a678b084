package worker

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// nobody is whom workers run as when the server is root.
const nobody = 65534

// confine restricts the calling thread, and so the worker that it starts: it can
// read its files and the system's libraries, run the executable, use its folder if it
// ingests, and open no socket. The thread must belong to the caller alone, from now
// on. What the kernel does not offer is missing from the result and named in lacks.
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
	paths[spec.Tables] = readFile
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

// dropCapabilities has an ingest worker keep, of a root's powers, those over the
// server's files, whoever's they are. Who is not root has none, and may not give up
// any.
func dropCapabilities() {
	for power := range uintptr(64) {
		if power != unix.CAP_DAC_OVERRIDE && power != unix.CAP_DAC_READ_SEARCH {
			_ = unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0)
		}
	}
}

// errNoLandlock says that the kernel, or who runs us in it, does not offer it.
var errNoLandlock = errors.New("no landlock")

// ConfineThread goes further for the calling thread, and those that it starts:
// of all files they can read those in a folder, and they run no program. It is for
// the thread that runs queries, once DuckDB is open.
func ConfineThread(dir string) error {
	if err := confineFiles(map[string]uint64{dir: readFile}); err != nil && !errors.Is(err, errNoLandlock) {
		return err
	}
	// Where the kernel has no such filters, the server has said so.
	_ = denySyscalls([]uint32{unix.SYS_EXECVE, unix.SYS_EXECVEAT})
	return nil
}

var (
	// libraries are what the loader of a dynamic executable reads.
	libraries = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache"}
	// facts are what DuckDB reads of its machine while it opens, and ends the
	// process when they exist and cannot be read.
	facts = []string{"/proc", "/sys/fs/cgroup"}
)

type landlockRuleset struct{ fs, net, scoped uint64 }

// pathBeneath is packed in the kernel's header, and so has no padding at its
// end.
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

// confineFiles takes from the calling thread all use of files but for what the
// paths, of which some may be missing, are allowed.
func confineFiles(paths map[string]uint64) error {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return errNoLandlock
	}
	// Each version of the interface knows more rights; all that it knows are
	// taken away.
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

// processAttributes are how a worker starts, best first: where the system does
// not allow one way the next is tried. lacks says what it goes without. An ingest
// worker's files are the server's: so it stays the server's user.
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

// Apply sets the hard limits of the process that calls it: a query worker, before it
// opens DuckDB. It is not for the server to do from outside: a root without all
// capabilities may not, once the worker is somebody else.
func (l Limits) Apply() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err != nil {
		return fmt.Errorf("get the limit of open files: %w", err)
	}
	set := map[int]uint64{
		unix.RLIMIT_CORE:  0,
		unix.RLIMIT_FSIZE: 0,
		// DuckDB holds a table's files open while it reads them.
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

// LimitCPU lets the process that calls it use so much more processor time. It
// is what stops a query when the server itself hangs and cannot kill.
func LimitCPU(more time.Duration) error {
	var used unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &used); err != nil {
		return err
	}
	limit := uint64(used.Utime.Sec+used.Stime.Sec) + uint64(more/time.Second) + 2
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: limit, Max: unix.RLIM_INFINITY})
}

// setOOMScore makes a worker what the kernel kills first, should the machine run
// out of memory all the same.
func setOOMScore(pid int) {
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", pid), []byte("1000"), 0)
}

// addressSpace gives the bytes of address space that a process has.
func addressSpace(pid int) (uint64, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0, err
	}
	var pages uint64
	if _, err := fmt.Sscan(string(data), &pages); err != nil {
		return 0, fmt.Errorf("read the size of a worker: %w", err)
	}
	return pages * uint64(os.Getpagesize()), nil
}

// killGroup ends a worker and whatever it started.
func killGroup(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGKILL)
	_ = syscall.Kill(pid, syscall.SIGKILL)
}

// FreeDisk gives how many bytes of a folder's disk this process may still use.
func FreeDisk(folder string) (int64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(folder, &fs); err != nil {
		return 0, err
	}
	return int64(fs.Bavail) * fs.Bsize, nil
}

// markInherited has every descriptor of this process closed in programs that it
// starts.
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

// folderInWorker is the name that a worker has for the folder that it inherits. It needs
// no right to the folders that this one is in.
func folderInWorker(string) string { return fmt.Sprintf("/proc/self/fd/%d", tablesFD) }

// LimitIngest sets the hard limits of the process that calls it, an ingest worker: it
// writes no core, and takes no more memory than it was given.
func LimitIngest(memory int64, threads int) error {
	// A file that may not grow any more is an error, and not the end.
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
	limit := size + addressBudget(memory, threads)
	return unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: limit, Max: limit})
}

// onMainThread reports whether the caller runs on the first thread of the process.
func onMainThread() bool { return unix.Gettid() == unix.Getpid() }
