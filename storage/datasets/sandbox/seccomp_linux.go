package sandbox

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// denied are system calls that queries do not need and attackers would use: network, other
// processes, and parts of the kernel with known vulnerabilities.
var denied = []uint32{
	unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_CONNECT, unix.SYS_BIND, unix.SYS_LISTEN, unix.SYS_ACCEPT,
	unix.SYS_ACCEPT4, unix.SYS_SENDTO, unix.SYS_SENDMSG, unix.SYS_SENDMMSG,
	unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_KCMP, unix.SYS_PIDFD_GETFD,
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_IO_URING_SETUP, unix.SYS_USERFAULTFD,
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_SETNS, unix.SYS_UNSHARE, unix.SYS_CHROOT,
	unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_KEXEC_LOAD,
	unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SWAPON, unix.SYS_REBOOT, unix.SYS_SHMGET, unix.SYS_MEMFD_CREATE,
}

// Where the kernel puts a system call's number and architecture for a filter.
const (
	offsetNumber = 0
	offsetArch   = 4
)

// denySyscalls makes the given calls, and those with another architecture's numbers, fail
// with EPERM in the calling thread and what it starts.
func denySyscalls(denied []uint32) error {
	const (
		load    = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		isEqual = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		isAbove = unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K
		answer  = unix.BPF_RET | unix.BPF_K
		// x86-64 lets programs call with 32-bit pointers by a bit in the number.
		otherNumbers = 0x40000000
	)
	n := uint8(len(denied))
	filter := []unix.SockFilter{
		{Code: load, K: offsetArch},
		{Code: isEqual, K: auditArch, Jf: n + 3},
		{Code: load, K: offsetNumber},
		{Code: isAbove, K: otherNumbers, Jt: n + 1},
	}
	for i, number := range denied {
		filter = append(filter, unix.SockFilter{Code: isEqual, K: number, Jt: n - uint8(i)})
	}
	filter = append(filter,
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		unix.SockFilter{Code: answer, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
	)
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	return unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
}
