package client

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"parley/cmd/parley/internal/command"
	"parley/cmd/parley/internal/console"
)

// follow asks the first question, if given, and those of standard input, up to its end or
// exit. At a prompt an interruption ends only the run; elsewhere it ends the command.
func (s *askSession) follow(ctx context.Context, first string) error {
	lines, atPrompt := newLineReader(s.question.Namespace)
	if atPrompt {
		var stop context.CancelFunc
		ctx, stop = command.UntilSignal(context.WithoutCancel(ctx), command.EndSignals()...)
		defer stop()
		s.note("exit or Ctrl-D ends this, Ctrl-C only what runs")
	}
	s.following = true
	questions, failed := 0, 0
	for text := first; ; {
		if text = strings.TrimSpace(text); text == "exit" || text == "quit" {
			break
		}
		if text != "" {
			questions++
			err := s.askOne(ctx, text, atPrompt)
			if ctx.Err() != nil {
				return err
			}
			if err != nil {
				failed++
				command.Fail(s.env, command.ExitCode(ctx, err), err)
			}
		}
		var err error
		text, err = nextLine(ctx, lines)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
	}
	if id := s.question.ContextID; id != "" {
		s.note("to go on with this conversation: parley ask --follow%s --context %s", s.inNamespace(), id)
	}
	if failed > 0 && !atPrompt {
		return fmt.Errorf("%w to %d of %s", command.ErrNoAnswer, failed, plural(questions, "question"))
	}
	return nil
}

// askOne asks a question. At a prompt, Ctrl-C ends only this one.
func (s *askSession) askOne(ctx context.Context, text string, atPrompt bool) error {
	if atPrompt {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT)
		defer stop()
	}
	return s.ask(ctx, text)
}

// nextLine waits for a line, or for the end of the context.
func nextLine(ctx context.Context, lines lineReader) (string, error) {
	if lines.prepare != nil {
		restore, err := lines.prepare()
		if err != nil {
			return "", err
		}
		defer restore()
	}
	type read struct {
		text string
		err  error
	}
	came := make(chan read, 1)
	go func() { // ends with the process, if no line comes
		text, err := lines.next()
		came <- read{text, err}
	}()
	select {
	case line := <-came:
		return line.text, line.err
	case <-ctx.Done():
		return "", command.ErrInterrupted
	}
}

// lineReader reads questions from standard input.
type lineReader struct {
	// next returns a line, io.EOF after the last.
	next func() (string, error)
	// prepare changes the terminal for a line; nil where there is none. In between,
	// Ctrl-C interrupts the run.
	prepare func() (restore func(), err error)
}

// newLineReader reads standard input, at a prompt on a terminal.
func newLineReader(prompt string) (lines lineReader, atPrompt bool) {
	if term.IsTerminal(int(os.Stdin.Fd())) {
		for _, screen := range []*os.File{os.Stderr, os.Stdout} {
			if console.StyleOf(screen).Terminal() {
				return newPromptReader(screen, prompt), true
			}
		}
	}
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, maxQuestion)
	return lineReader{next: func() (string, error) {
		if scanner.Scan() {
			return scanner.Text(), nil
		}
		if err := scanner.Err(); err != nil {
			return "", fmt.Errorf("read a question: %w", err)
		}
		return "", io.EOF
	}}, false
}

// newPromptReader reads lines with an editor that has a history.
func newPromptReader(screen *os.File, prompt string) lineReader {
	fd := int(os.Stdin.Fd())
	editor := term.NewTerminal(terminal{os.Stdin, screen}, console.Line(prompt)+"> ")
	return lineReader{
		prepare: func() (func(), error) {
			if width, height, err := term.GetSize(int(screen.Fd())); err == nil && width > 0 {
				_ = editor.SetSize(width, height) // only for line breaks
			}
			before, err := term.MakeRaw(fd)
			if err != nil {
				return nil, fmt.Errorf("prepare the terminal: %w", err)
			}
			return func() { _ = term.Restore(fd, before) }, nil
		},
		next: func() (string, error) {
			line, err := editor.ReadLine()
			if errors.Is(err, term.ErrPasteIndicator) {
				err = nil
			}
			if err == io.EOF {
				fmt.Fprint(screen, "\r\n")
			}
			return line, err
		},
	}
}

// terminal has the keys and the screen. Ctrl-C clears the line, as in a shell; the editor
// would take it for the end.
type terminal struct {
	keys   io.Reader
	screen io.Writer
}

func (t terminal) Read(p []byte) (int, error) {
	const interrupt, emptyLine = "\x03", "\x05\x15" // to the end of the line, and delete what is before
	typed := make([]byte, max(len(p)/len(emptyLine), 1))
	n, err := t.keys.Read(typed)
	return copy(p, bytes.ReplaceAll(typed[:n], []byte(interrupt), []byte(emptyLine))), err
}

func (t terminal) Write(p []byte) (int, error) { return t.screen.Write(p) }
