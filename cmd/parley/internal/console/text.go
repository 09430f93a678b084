// Package console formats output for a terminal: texts without control characters,
// aligned tables, Markdown, progress. What is printed, and where, is left to its users.
package console

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-runewidth"
)

// Line escapes a text to one line: characters that move the cursor, control the terminal
// or change the order of letters are shown as in Go, \x1b for an escape. All text of
// others passes through Line or Text before it is printed.
func Line(text string) string { return clean(text, "") }

// Text is Line for several lines, which stay.
func Text(text string) string {
	return clean(strings.ReplaceAll(text, "\r\n", "\n"), "\n\t")
}

// CopyText copies text to a terminal, with each character as in Text.
func CopyText(w io.Writer, r io.Reader) error {
	in, out := bufio.NewReader(r), bufio.NewWriter(w)
	for {
		c, _, err := in.ReadRune()
		if errors.Is(err, io.EOF) {
			return out.Flush()
		}
		if err != nil {
			return errors.Join(out.Flush(), err)
		}
		if _, err := out.WriteString(Text(string(c))); err != nil {
			return err
		}
	}
}

func clean(text, keep string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || harmful(r) }) {
		return text
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError:
			if _, size := utf8.DecodeRuneInString(text[i:]); size == 1 {
				fmt.Fprintf(&b, `\x%02x`, text[i])
				continue
			}
			b.WriteRune(r)
		case harmful(r) && !strings.ContainsRune(keep, r):
			b.WriteString(escaped(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// harmful reports whether a character controls the output. Joiners are not: some scripts
// and emoji need them.
func harmful(r rune) bool {
	const joiner, nonJoiner = '\u200d', '\u200c'
	if r == joiner || r == nonJoiner {
		return false
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

func escaped(r rune) string {
	switch {
	case r == '\n':
		return `\n`
	case r == '\t':
		return `\t`
	case r == '\r':
		return `\r`
	case r < 0x80:
		return fmt.Sprintf(`\x%02x`, r)
	case r > 0xffff:
		return fmt.Sprintf(`\U%08x`, r)
	}
	return fmt.Sprintf(`\u%04x`, r)
}

// JSON escapes a JSON text without changing its meaning: by \u escapes in strings.
func JSON(text []byte) []byte {
	if !bytes.ContainsFunc(text, func(r rune) bool { return r == utf8.RuneError || r >= 0x20 && harmful(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r < 0x20 || !harmful(r):
			b.WriteRune(r) // a control character in JSON is white space
		case r > 0xffff:
			high := 0xd800 + (r-0x10000)>>10
			low := 0xdc00 + (r-0x10000)&0x3ff
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return []byte(b.String())
}

// cells measures columns of a terminal, the same in every locale.
var cells = &runewidth.Condition{}

// Width returns how many columns of a terminal an escaped line takes.
func Width(line string) int { return cells.StringWidth(line) }

// Cut truncates an escaped line to a width, with … at the end.
func Cut(line string, width int) string {
	if Width(line) <= width {
		return line
	}
	return cells.Truncate(line, width, "…")
}
