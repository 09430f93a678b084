package console

import (
	"io"
	"regexp"
	"strings"
)

// Markdown prints a text in Markdown as plain text, escaped. It renders line by line, and keeps
// the lines and every entity but three of the text, which a parser of all of Markdown would not.
func Markdown(w io.Writer, text string, style Style) error {
	lines := strings.Split(strings.TrimRight(Text(text), "\n"), "\n")
	for code := false; len(lines) > 0; {
		if table, rest := markdownTable(lines); !code && len(table.Rows) > 0 {
			if err := table.Write(w, style); err != nil {
				return err
			}
			lines = rest
			continue
		}
		line := lines[0]
		lines = lines[1:]
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			code = !code
			continue
		}
		if code {
			line = "    " + line
		} else {
			line = style.block(line)
		}
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			return err
		}
	}
	return nil
}

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*?)#*$`)
	bullet  = regexp.MustCompile(`^( *)[-*+] +`)
	rule    = regexp.MustCompile(`^\|?[ :|-]*-[ :|-]*\|?$`)
	// inline matches code, links, bold and italic texts and escaped characters; no
	// underscores, which names of columns have.
	inline = regexp.MustCompile("`([^`]+)`" + `|\[([^\[\]]+)\]\(([^()\s]+)\)|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*|\\([!-/:-@\[-` + "`" + `{-~])`)
)

// block renders a line.
func (s Style) block(line string) string {
	if found := heading.FindStringSubmatch(line); found != nil {
		return s.Bold(Style{}.spans(strings.TrimSpace(found[1])))
	}
	return s.spans(bullet.ReplaceAllString(line, "$1• "))
}

// entities are those that escape HTML. Numeric ones could be control characters.
var entities = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// spans renders the marks within a line.
func (s Style) spans(line string) string {
	line = entities.Replace(line)
	return inline.ReplaceAllStringFunc(line, func(span string) string {
		m := inline.FindStringSubmatch(span)
		switch {
		case m[1] != "":
			return s.Dim(m[1])
		case m[2] != "":
			return s.Underline(m[2]) + " (" + m[3] + ")"
		case m[4] != "":
			return s.Bold(m[4])
		case m[5] != "":
			return s.Italic(m[5])
		}
		return m[6]
	})
}

// markdownTable parses the table at the beginning of lines, and returns the lines after
// it. Without a table there are no rows.
func markdownTable(lines []string) (Table, []string) {
	var t Table
	if len(lines) < 3 || !isRow(lines[0]) || !rule.MatchString(strings.TrimSpace(lines[1])) {
		return t, lines
	}
	aligned := cellsOf(lines[1])
	for i, name := range cellsOf(lines[0]) {
		t.Columns = append(t.Columns, Column{Name: name, Right: i < len(aligned) && strings.HasSuffix(aligned[i], ":")})
	}
	for lines = lines[2:]; len(lines) > 0 && isRow(lines[0]); lines = lines[1:] {
		t.Rows = append(t.Rows, cellsOf(lines[0]))
	}
	return t, lines
}

func isRow(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "|") }

// escapedBar is a bar within a cell.
const escapedBar = `\|`

func cellsOf(line string) []string {
	line = strings.ReplaceAll(strings.TrimSpace(line), escapedBar, "\x00")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	cells := strings.Split(line, "|")
	for i, cell := range cells {
		cells[i] = Style{}.spans(strings.TrimSpace(strings.ReplaceAll(cell, "\x00", "|")))
	}
	return cells
}
