package main

/*
#include <fcntl.h>

static int closed;

// Go replaces a closed standard output by /dev/null as it starts. This runs before.
__attribute__((constructor)) static void parley_note_stdout(void) { closed = fcntl(1, F_GETFD) == -1; }

static int parley_stdout_closed(void) { return closed; }
*/
import "C"

import (
	"errors"
	"io"
	"os"
)

// stdout is standard output. If it is closed, writing fails, so that no command succeeds
// whose result is lost.
func stdout() io.Writer {
	if C.parley_stdout_closed() != 0 {
		return closedOutput{}
	}
	return os.Stdout
}

type closedOutput struct{}

var errClosed = errors.New("standard output is closed: the result is lost")

func (closedOutput) Write([]byte) (int, error) { return 0, errClosed }
