package e2etest

// The program's exit codes, which scripts rely on: `parley --help` lists them.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitNotSignedIn = 3
	ExitNotFound    = 4
	ExitUnavailable = 5
	ExitNoAnswer    = 6
	ExitInput       = 7
	ExitInterrupted = 130
)
