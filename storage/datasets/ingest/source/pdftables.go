package source

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"github.com/klippa-app/go-pdfium"
	"github.com/klippa-app/go-pdfium/references"
	"github.com/klippa-app/go-pdfium/requests"
)

// Limits of the search for tables in a PDF file.
const (
	// maxPageText is the longest text of a page that is searched, in characters.
	maxPageText = 30_000
	// maxTableWork limits the squares of these, all together: PDFium reads all characters of a page for
	// each piece of it.
	maxTableWork = 4e9
	// maxPieces is how many bytes the pieces of a page may have for each of its characters.
	maxPieces = 8
	// A table has some rows, columns and values in them, and short values.
	minTableRows, maxTableColumns = 3, 60
	maxTableWords, maxShortWords  = 10, 3
)

// pdfPiece is a text at a place of a page, in points from its lower left.
type pdfPiece struct {
	left, right, top, bottom float64
	text                     string
}

func (p pdfPiece) height() float64 { return p.top - p.bottom }

// pdfLine has the pieces of a line, from left to right.
type pdfLine []pdfPiece

// pdfTables collects the tables of the pages of a PDF file.
type pdfTables struct {
	found []*pdfTable
	work  float64
}

// pdfTable is a table: rows with a value, "" or not, for each column.
type pdfTable struct {
	name string
	rows [][]string
}

// read searches the text of a page, counted from 1, which has so many characters. A page that cannot be
// searched has no tables: its text is read anyway.
func (t *pdfTables) read(reader pdfium.Pdfium, text references.FPDF_TEXTPAGE, page, chars int) {
	work := float64(chars) * float64(chars)
	if chars > maxPageText || t.work+work > maxTableWork {
		return
	}
	t.work += work
	rects, err := reader.FPDFText_CountRects(&requests.FPDFText_CountRects{TextPage: text, Count: -1})
	if err != nil {
		return
	}
	var pieces []pdfPiece
	size := 0
	for i := range rects.Count {
		at, err := reader.FPDFText_GetRect(&requests.FPDFText_GetRect{TextPage: text, Index: i})
		if err != nil {
			return
		}
		within, err := reader.FPDFText_GetBoundedText(&requests.FPDFText_GetBoundedText{TextPage: text, Left: at.Left, Top: at.Top, Right: at.Right, Bottom: at.Bottom})
		if err != nil {
			return
		}
		if size += len(within.Text); size > maxPieces*chars {
			return // pieces lie above each other
		}
		p := pdfPiece{left: at.Left, right: at.Right, top: max(at.Top, at.Bottom), bottom: min(at.Top, at.Bottom), text: oneLine(strings.ToValidUTF8(pdfText.Replace(within.Text), "\ufffd"))}
		if p.text != "" && p.right > p.left && p.height() > 0 && !math.IsInf(p.height()+p.right, 0) {
			pieces = append(pieces, p)
		}
	}
	t.search(linesOf(pieces), page)
}

// linesOf groups pieces to lines, from top to bottom. Pieces of a line that are as close as words are
// joined.
func linesOf(pieces []pdfPiece) (lines []pdfLine) {
	slices.SortStableFunc(pieces, func(a, b pdfPiece) int { return cmp.Compare(b.top+b.bottom, a.top+a.bottom) })
	for _, p := range pieces {
		middle := (p.top + p.bottom) / 2
		if n := len(lines); n > 0 && lines[n-1][0].bottom < middle && middle < lines[n-1][0].top {
			lines[n-1] = append(lines[n-1], p)
			continue
		}
		lines = append(lines, pdfLine{p})
	}
	for i, line := range lines {
		slices.SortStableFunc(line, func(a, b pdfPiece) int { return cmp.Compare(a.left, b.left) })
		joined := line[:1]
		for _, p := range line[1:] {
			last := &joined[len(joined)-1]
			switch gap, height := p.left-last.right, max(p.height(), last.height()); {
			case gap > 0.7*height:
				joined = append(joined, p)
				continue
			case gap > 0.15*height:
				last.text += " "
			}
			last.text += p.text
			last.right, last.top, last.bottom = max(last.right, p.right), max(last.top, p.top), min(last.bottom, p.bottom)
		}
		lines[i] = joined
	}
	return lines
}

// search adds the tables among the lines of a page: lines with several pieces that follow each other.
func (t *pdfTables) search(lines []pdfLine, page int) {
	for begin := 0; begin < len(lines); {
		if len(lines[begin]) < 2 {
			begin++
			continue
		}
		end := begin + 1 // of the last line with several pieces
		for i := end; i < len(lines) && i <= end+2 && lines[i-1][0].bottom-lines[i][0].top < 2.5*lines[i][0].height(); i++ {
			if len(lines[i]) > 1 {
				end = i + 1
			}
		}
		for last := lines[end-1][0]; end < len(lines) && len(lines[end]) == 1 && lines[end][0].left > last.right && lines[end-1][0].bottom-lines[end][0].top < lines[end][0].height(); {
			end++ // the rest of a value of the last row
		}
		name := fmt.Sprint("page ", page)
		if begin > 0 && len(lines[begin-1]) == 1 && lines[begin-1][0].bottom-lines[begin][0].top < 3*lines[begin][0].height() {
			name = lines[begin-1][0].text
		}
		t.add(name, lines[begin:end])
		begin = end
	}
}

// add adds a table of lines, if they are one. One that repeats the first row of the last table
// continues it.
func (t *pdfTables) add(name string, lines []pdfLine) {
	columns := columnsOf(lines)
	if len(lines) < minTableRows || len(columns) < 2 || len(columns) > maxTableColumns {
		return
	}
	rows := make([][]string, 0, len(lines))
	for _, line := range lines {
		row, filled, first := make([]string, len(columns)), 0, 0
		for _, p := range line {
			at := columnAt(columns, p)
			if row[at] == "" {
				filled, first = filled+1, at
			}
			row[at] = strings.TrimSpace(row[at] + " " + p.text)
		}
		if filled == 1 && first > 0 && len(rows) > 0 { // a value goes on in another line
			above := rows[len(rows)-1]
			above[first] = strings.TrimSpace(above[first] + " " + row[first])
			continue
		}
		rows = append(rows, row)
	}
	if !areTable(rows) {
		return
	}
	if n := len(t.found); n > 0 && slices.Equal(t.found[n-1].rows[0], rows[0]) {
		t.found[n-1].rows = append(t.found[n-1].rows, rows[1:]...)
		return
	}
	t.found = append(t.found, &pdfTable{name: name, rows: rows})
}

// columnsOf returns the ranges that more than a few of the lines cover.
func columnsOf(lines []pdfLine) (columns []pdfPiece) {
	type edge struct {
		at  float64
		add int
	}
	var edges []edge
	several := 0
	for _, line := range lines {
		if len(line) < 2 {
			continue // a heading, or the rest of a value
		}
		several++
		for _, p := range line {
			edges = append(edges, edge{p.left, 1}, edge{p.right, -1})
		}
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.add, b.add)) })
	few, covering := several/10, 0
	for _, e := range edges {
		before := covering
		switch covering += e.add; {
		case before <= few && covering > few:
			columns = append(columns, pdfPiece{left: e.at})
		case before > few && covering <= few:
			columns[len(columns)-1].right = e.at
		}
	}
	return columns
}

// columnAt returns the column that has most of a piece.
func columnAt(columns []pdfPiece, p pdfPiece) int {
	best, most := 0, math.Inf(-1)
	for i, c := range columns {
		if shared := min(c.right, p.right) - max(c.left, p.left); shared > most {
			best, most = i, shared
		}
	}
	return best
}

// areTable reports whether rows are those of a table, and not of text in columns: most have several
// values, which are short, those of a column but the first very much so.
func areTable(rows [][]string) bool {
	if len(rows) < minTableRows {
		return false
	}
	several := 0
	words, values := make([]int, len(rows[0])), make([]int, len(rows[0]))
	for _, row := range rows {
		filled := 0
		for i, value := range row {
			if value != "" {
				filled++
				values[i]++
				words[i] += len(strings.Fields(value))
			}
		}
		if filled > 1 {
			several++
		}
	}
	short := false
	for i := range words {
		if words[i] > maxTableWords*values[i] {
			return false
		}
		short = short || i > 0 && values[i]*2 > len(rows) && words[i] <= maxShortWords*values[i]
	}
	return short && several*10 >= len(rows)*7
}

// addTo adds the tables to the parts of a file.
func (t *pdfTables) addTo(c *Container, file string, headerRow *int) error {
	for _, table := range t.found[:min(len(t.found), maxParts-len(c.parts))] {
		g := &grid{}
		for i, row := range table.rows {
			g.count(i, row)
		}
		g.each = func(give func(int, []string) error) error {
			for i, row := range table.rows {
				if err := give(i, row); err != nil {
					return err
				}
			}
			return nil
		}
		err := c.add(file, Part{Name: Excerpt(table.name), Format: CSV, grid: g,
			write: func(_ context.Context, out io.Writer) error { return g.writeCSV(out, headerRow) }})
		if err != nil {
			return err
		}
	}
	return nil
}
