// Package servertest runs servers for tests: programs that end with the test
// process, whatever ends it, or that a machine may lack. Which program that is, and
// how it is asked whether it is ready, is left to its users.
package servertest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// StartTimeout is far beyond the second a start takes: machines get busy.
const StartTimeout = 2 * time.Minute

// Start runs a script that ends its server when standard input closes, and returns
// once the server is ready, or with what the script printed when it has given up.
// The server ends when the lifeline closes, as it does with this process.
func Start(script *exec.Cmd, ready func() error) (lifeline *os.File, err error) {
	detach(script)
	stdin, lifeline, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open the lifeline: %w", err)
	}
	defer stdin.Close()
	output, stdout, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the output pipe: %w", err), lifeline.Close())
	}
	defer output.Close()
	script.Stdin, script.Stdout = stdin, stdout
	err = script.Start()
	_ = stdout.Close() // the script has it
	if err != nil {
		err = fmt.Errorf("run the script: %w", err)
	} else {
		err = awaitReady(ready, output)
	}
	if err != nil {
		return nil, errors.Join(err, lifeline.Close())
	}
	return lifeline, nil
}

func awaitReady(ready func() error, output *os.File) error {
	var log bytes.Buffer
	for deadline := time.Now().Add(StartTimeout); ; {
		err := ready()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no answer after %v: %w", StartTimeout, err)
		}
		// Listening for the script's end is also the pause before the next attempt.
		if err := output.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err != nil {
			return fmt.Errorf("watch the script: %w", err)
		}
		if _, err := io.Copy(&log, output); !errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("the server gave up:\n%s", log.String())
		}
	}
}
