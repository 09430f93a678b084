package golden

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

const (
	// around is how many equal lines are shown on each side of a difference.
	around = 3
	// maxTable bounds the work of aligning two texts. Beyond it a difference is
	// shown as all of one text and then all of the other.
	maxTable = 4 << 20
)

// edit is a line of a diff: common to both texts (' '), only wanted ('-') or only
// got ('+'). number counts the lines of the text that the line is in, the wanted
// one if both.
type edit struct {
	op     byte
	number int
	line   string
}

// diff shows the lines in which two different texts differ, each with its number
// and a few equal lines around.
func diff(want, got string) string {
	edits := align(lines(want), lines(got))
	near := make([]bool, len(edits))
	for i, e := range edits {
		if e.op != ' ' {
			for j := max(0, i-around); j <= min(len(edits)-1, i+around); j++ {
				near[j] = true
			}
		}
	}
	var out strings.Builder
	for i, e := range edits {
		if !near[i] {
			continue
		}
		if i > 0 && !near[i-1] {
			out.WriteString("       ...\n")
		}
		fmt.Fprintf(&out, "%c %4d %s\n", e.op, e.number, visible(e.line))
	}
	return out.String()
}

// align lists the lines of both texts in order, with as many as possible in
// common.
func align(want, got []string) []edit {
	var edits []edit
	prefix := 0
	for prefix < min(len(want), len(got)) && want[prefix] == got[prefix] {
		prefix++
		edits = append(edits, edit{' ', prefix, want[prefix-1]})
	}
	suffix := 0
	for suffix < min(len(want), len(got))-prefix && want[len(want)-1-suffix] == got[len(got)-1-suffix] {
		suffix++
	}
	wantEnd, gotEnd := len(want)-suffix, len(got)-suffix

	common := commonLengths(want[prefix:wantEnd], got[prefix:gotEnd])
	i, j := prefix, prefix
	for i < wantEnd || j < gotEnd {
		switch {
		case i < wantEnd && j < gotEnd && want[i] == got[j] && common != nil:
			edits = append(edits, edit{' ', i + 1, want[i]})
			i, j = i+1, j+1
		case i < wantEnd && (j == gotEnd || common == nil || common[i+1-prefix][j-prefix] >= common[i-prefix][j+1-prefix]):
			edits = append(edits, edit{'-', i + 1, want[i]})
			i++
		default:
			edits = append(edits, edit{'+', j + 1, got[j]})
			j++
		}
	}
	for ; i < len(want); i++ {
		edits = append(edits, edit{' ', i + 1, want[i]})
	}
	return edits
}

// commonLengths returns, for each pair of positions, how many lines the rests of
// both texts have in common at most; nil when that is too much work.
func commonLengths(want, got []string) [][]int {
	if (len(want)+1)*(len(got)+1) > maxTable {
		return nil
	}
	table := make([][]int, len(want)+1)
	for i := range table {
		table[i] = make([]int, len(got)+1)
	}
	for i := len(want) - 1; i >= 0; i-- {
		for j := len(got) - 1; j >= 0; j-- {
			if want[i] == got[j] {
				table[i][j] = table[i+1][j+1] + 1
			} else {
				table[i][j] = max(table[i+1][j], table[i][j+1])
			}
		}
	}
	return table
}

// lines cuts after each newline, so that a missing last one counts.
func lines(text string) []string { return slices.Collect(strings.Lines(text)) }

// visible shows a line as it is, or quoted if the eye would miss something.
func visible(line string) string {
	text, ended := strings.CutSuffix(line, "\n")
	hidden := strings.TrimRightFunc(text, unicode.IsSpace) != text ||
		strings.ContainsFunc(text, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) })
	if hidden {
		text = strconv.Quote(text)
	}
	if !ended {
		text += "   (no newline at the end)"
	}
	return text
}
