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

// follow asks one question after the other, the first perhaps given, until there
// are no more or somebody has had enough. At a prompt an interruption ends the
// run, and the next question can be asked; elsewhere it ends everything.
func (s *askSession) follow(ctx context.Context, first string) error {
	lines, atPrompt := newLineReader(s.question.Namespace)
	if atPrompt {
		var stop context.CancelFunc
		ctx, stop = command.UntilSignal(context.WithoutCancel(ctx), command.EndSignals()...)
		defer stop()
		s.note("exit or Ctrl-D ends this, Ctrl-C only what runs")
	}
	s.following = true
	asked, failed := 0, 0
	for text := first; ; {
		if text = strings.TrimSpace(text); text == "exit" || text == "quit" {
			break
		}
		if text != "" {
			asked++
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
		s.note("to go on with this conversation: parley ask --follow --namespace %s --context %s", s.question.Namespace, id)
	}
	if failed > 0 && !atPrompt {
		return fmt.Errorf("%w to %d of %s", command.ErrNoAnswer, failed, plural(asked, "question"))
	}
	return nil
}

// askOne asks a question, which at a prompt Ctrl-C ends alone.
func (s *askSession) askOne(ctx context.Context, text string, atPrompt bool) error {
	if atPrompt {
		var stop context.CancelFunc
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGINT)
		defer stop()
	}
	return s.ask(ctx, text)
}

// nextLine waits for a line, or for the end of everything.
func nextLine(ctx context.Context, lines lineReader) (string, error) {
	if err := lines.open(); err != nil {
		return "", err
	}
	defer lines.close()
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

// lineReader gives the lines that are to be asked, io.EOF after the last. It is
// open while one is waited for.
type lineReader interface {
	open() error
	next() (string, error)
	close()
}

// newLineReader reads standard input, at a prompt where there is a terminal.
func newLineReader(prompt string) (lines lineReader, atPrompt bool) {
	fd := int(os.Stdin.Fd())
	for _, screen := range []*os.File{os.Stderr, os.Stdout} {
		style := console.StyleOf(screen)
		if !term.IsTerminal(fd) || !style.Terminal() {
			continue
		}
		editor := term.NewTerminal(terminal{os.Stdin, screen}, console.Line(prompt)+"> ")
		return &promptReader{fd: fd, screen: screen, editor: editor}, true
	}
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(nil, maxQuestion)
	return pipeReader{scanner}, false
}

// pipeReader reads lines that come from elsewhere.
type pipeReader struct{ *bufio.Scanner }

func (p pipeReader) next() (string, error) {
	if p.Scan() {
		return p.Text(), nil
	}
	if err := p.Err(); err != nil {
		return "", fmt.Errorf("read a question: %w", err)
	}
	return "", io.EOF
}

func (p pipeReader) open() error { return nil }

func (p pipeReader) close() {}

// promptReader has lines edited, with those before at hand. The terminal is only
// changed while it is open, so that Ctrl-C interrupts what runs in between.
type promptReader struct {
	fd     int
	screen *os.File
	editor *term.Terminal
	before *term.State
}

func (p *promptReader) open() (err error) {
	if width, height, err := term.GetSize(int(p.screen.Fd())); err == nil && width > 0 {
		_ = p.editor.SetSize(width, height) // only how lines are broken
	}
	if p.before, err = term.MakeRaw(p.fd); err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	return nil
}

func (p *promptReader) next() (string, error) {
	line, err := p.editor.ReadLine()
	if errors.Is(err, term.ErrPasteIndicator) {
		err = nil
	}
	if err == io.EOF {
		fmt.Fprint(p.screen, "\r\n")
	}
	return line, err
}

func (p *promptReader) close() {
	_ = term.Restore(p.fd, p.before) // there is no other way to put it right
}

// terminal is what is typed and what is seen. Ctrl-C empties the line, as in a
// shell, where the editor would take it for the end.
type terminal struct {
	keys   io.Reader
	screen io.Writer
}

func (t terminal) Read(p []byte) (int, error) {
	const interrupt, emptyLine = "\x03", "\x05\x15" // to the line's end, and all before away
	typed := make([]byte, max(len(p)/len(emptyLine), 1))
	n, err := t.keys.Read(typed)
	return copy(p, bytes.ReplaceAll(typed[:n], []byte(interrupt), []byte(emptyLine))), err
}

func (t terminal) Write(p []byte) (int, error) { return t.screen.Write(p) }
