package console

import (
	"io"
	"os"

	"golang.org/x/term"
)

// Style is what the output supports.
type Style struct {
	// Width is that of the terminal in columns; 0 if it is no terminal, where nothing is
	// cut.
	Width int
	// Color says that bold and dim may be used.
	Color bool
}

// StyleOf returns the style of w. It respects NO_COLOR and a dumb terminal.
func StyleOf(w io.Writer) Style {
	file, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return Style{}
	}
	width, _, err := term.GetSize(int(file.Fd()))
	if err != nil || width <= 0 {
		width = 80
	}
	return Style{Width: width, Color: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}

// Terminal reports whether the output is a terminal.
func (s Style) Terminal() bool { return s.Width > 0 }

// Bold makes an escaped text bold, if colors are supported.
func (s Style) Bold(text string) string { return s.mark("1", "22", text) }

// Dim is Bold for faint text.
func (s Style) Dim(text string) string { return s.mark("2", "22", text) }

// Italic is Bold for text in italics.
func (s Style) Italic(text string) string { return s.mark("3", "23", text) }

// Underline is Bold for underlined text.
func (s Style) Underline(text string) string { return s.mark("4", "24", text) }

func (s Style) mark(on, off, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + on + "m" + text + "\x1b[" + off + "m"
}
