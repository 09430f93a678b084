package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
	"golang.org/x/net/html/charset"

	"parley/internal/domain"
)

const (
	// maxHTML is the most bytes of an HTML file: its tables are held in memory.
	maxHTML = 64 << 20
	// maxCells is how many cells the tables of an HTML file may have.
	maxCells = 4_000_000
	// maxOpenTables is how deep tables may be nested.
	maxOpenTables = 32
)

// page collects the tables and the visible text of an HTML file.
type page struct {
	in        Input
	headerRow *int
	found     Container
	// open are the tables that are not closed yet, the inner ones last.
	open []*htmlTable
	// hidden counts the open elements whose text is not shown.
	hidden int
	// concealed are the open elements from one on that an attribute hides, concealedTags counts
	// them.
	concealed     []atom.Atom
	concealedTags map[atom.Atom]int
	// searched counts the open elements that the ends of hidden ones were compared with.
	searched int
	cells    int
	// title collects a heading, the last of which names the tables below it.
	heading   *strings.Builder
	lastTitle string
	text      strings.Builder
}

// openHTML returns the tables of an HTML file with a row below the header, or else its
// visible text.
func (r *Reader) openHTML(ctx context.Context, in Input) (*Container, error) {
	file, err := os.Open(in.Path)
	if err != nil {
		return nil, fmt.Errorf("open source: %w", err)
	}
	defer file.Close()
	limited := &io.LimitedReader{R: file, N: maxHTML + 1}
	var text io.Reader = limited
	if !utf8.Valid(TrimPartialRune(in.Head)) {
		if text, err = charset.NewReader(limited, "text/html"); err != nil {
			return nil, refuseDamaged(in.Name)
		}
	}
	p := &page{in: in, headerRow: r.Options.HeaderRow}
	err = p.read(ctx, html.NewTokenizer(text))
	switch {
	case err != nil:
		return nil, err
	case limited.N <= 0:
		return nil, refuse("%s is longer than %d bytes, the limit for HTML files", in.Name, maxHTML)
	}
	if len(p.found.parts) == 0 && strings.TrimSpace(p.text.String()) != "" {
		p.found.parts = append(p.found.parts, Part{Name: "text", Format: Text, In: Input{Name: in.Name},
			write: func(_ context.Context, out io.Writer) error {
				_, err := io.WriteString(out, p.text.String())
				return err
			}})
	}
	return &p.found, nil
}

func (p *page) read(ctx context.Context, tokens *html.Tokenizer) error {
	tokens.SetMaxBuf(MaxValue)
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var err error
		switch kind := tokens.Next(); kind {
		case html.ErrorToken:
			if err := tokens.Err(); !errors.Is(err, io.EOF) {
				if errors.Is(err, html.ErrBufferExceeded) {
					return refuse("%s: a tag or a text is longer than %d bytes", p.in.Name, MaxValue)
				}
				return fmt.Errorf("read source: %w", err)
			}
			for len(p.open) > 0 {
				if err := p.closeTable(); err != nil {
					return err
				}
			}
			return nil
		case html.TextToken:
			p.addText(string(tokens.Text()))
		case html.StartTagToken, html.SelfClosingTagToken:
			token := tokens.Token()
			err = p.start(token, kind == html.SelfClosingTagToken)
		case html.EndTagToken:
			name, _ := tokens.TagName()
			err = p.end(atom.Lookup(name))
		}
		if err != nil {
			return err
		}
	}
}

// invisible are the elements whose text is not shown.
var invisible = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true, atom.Head: true, atom.Select: true, atom.Textarea: true, atom.Iframe: true, atom.Object: true,
}

// blocks are the elements that begin a line; paragraphs also have an empty one.
var blocks = map[atom.Atom]string{
	atom.Br: "\n", atom.Li: "\n", atom.Tr: "\n", atom.Div: "\n", atom.Dt: "\n", atom.Dd: "\n", atom.Option: "\n", atom.Td: "\t", atom.Th: "\t",
	atom.P: "\n\n", atom.H1: "\n\n", atom.H2: "\n\n", atom.H3: "\n\n", atom.H4: "\n\n", atom.H5: "\n\n", atom.H6: "\n\n", atom.Section: "\n\n",
	atom.Article: "\n\n", atom.Blockquote: "\n\n", atom.Pre: "\n\n", atom.Table: "\n\n", atom.Ul: "\n\n", atom.Ol: "\n\n", atom.Hr: "\n\n",
}

func isHeadingTag(tag atom.Atom) bool {
	return tag == atom.H1 || tag == atom.H2 || tag == atom.H3 || tag == atom.H4 || tag == atom.H5 || tag == atom.H6
}

func (p *page) start(token html.Token, closed bool) error {
	tag := token.DataAtom
	if p.staysConcealed(tag, closed) {
		return nil
	}
	if invisible[tag] && !closed {
		p.hidden++
		return nil
	}
	if p.hidden > 0 {
		if tag != atom.Body {
			return nil
		}
		p.hidden = 0 // a head without an end
	}
	if !closed && !void[tag] && conceals(token) {
		p.conceal(tag)
		return nil
	}
	p.text.WriteString(blocks[tag])
	if isHeadingTag(tag) && len(p.open) == 0 {
		p.heading = &strings.Builder{}
	}
	var t *htmlTable
	if len(p.open) > 0 {
		t = p.open[len(p.open)-1]
	}
	switch {
	case tag == atom.Table:
		if len(p.open) == maxOpenTables {
			return refuse("%s: more than %d tables are nested", p.in.Name, maxOpenTables)
		}
		p.open = append(p.open, &htmlTable{name: attributeOf(token, "id")})
	case t == nil:
	case tag == atom.Caption:
		t.caption = &strings.Builder{}
	case tag == atom.Tr:
		t.endRow()
		return p.startRow(t)
	case tag == atom.Td, tag == atom.Th:
		t.endCell()
		if !t.inRow {
			if err := p.startRow(t); err != nil {
				return err
			}
		}
		t.cell = &strings.Builder{}
		t.colspan = spanOf(token, "colspan", domain.MaxColumns)
		t.rowspan = spanOf(token, "rowspan", 65534)
		return p.countCells(t.covered() + t.colspan)
	case tag == atom.Br && t.cell != nil:
		t.cell.WriteByte('\n')
	}
	return nil
}

// startRow starts a row of a table. It counts as a cell, as it takes memory without one too.
func (p *page) startRow(t *htmlTable) error {
	t.rows = append(t.rows, nil)
	t.inRow = true
	return p.countCells(1)
}

// countCells refuses more cells than the limit, before they are made.
func (p *page) countCells(more int) error {
	if p.cells += more; p.cells > maxCells {
		return refuse("%s has more than %d cells in tables, the limit for HTML files", p.in.Name, maxCells)
	}
	return nil
}

// void are the elements without an end.
var void = map[atom.Atom]bool{
	atom.Area: true, atom.Base: true, atom.Br: true, atom.Col: true, atom.Embed: true, atom.Hr: true, atom.Img: true, atom.Input: true, atom.Link: true,
	atom.Meta: true, atom.Source: true, atom.Track: true, atom.Wbr: true,
}

// endedBy are the elements whose end may be left out, and what then ends them.
var endedBy = map[atom.Atom][]atom.Atom{
	atom.Td: {atom.Td, atom.Th, atom.Tr, atom.Tbody, atom.Tfoot}, atom.Th: {atom.Td, atom.Th, atom.Tr, atom.Tbody, atom.Tfoot},
	atom.Tr: {atom.Tr, atom.Tbody, atom.Tfoot}, atom.Thead: {atom.Tbody, atom.Tfoot}, atom.Tbody: {atom.Tbody, atom.Tfoot},
	atom.Li: {atom.Li}, atom.Dt: {atom.Dt, atom.Dd}, atom.Dd: {atom.Dt, atom.Dd},
	atom.P: {atom.P, atom.Div, atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Pre, atom.Hr, atom.Blockquote, atom.Section, atom.Article,
		atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6},
}

// conceals reports whether an attribute hides an element. Whole pages are hidden
// until a script has run.
func conceals(token html.Token) bool {
	if token.DataAtom == atom.Body || token.DataAtom == atom.Html {
		return false
	}
	for _, a := range token.Attr {
		if a.Key == "hidden" {
			return true
		}
		if a.Key != "style" {
			continue
		}
		for rule := range strings.SplitSeq(strings.ToLower(a.Val), ";") {
			name, value, _ := strings.Cut(rule, ":")
			value = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "!important"))
			if name = strings.TrimSpace(name); name == "display" && value == "none" || name == "visibility" && value == "hidden" {
				return true
			}
		}
	}
	return false
}

// staysConcealed reports whether a tag begins an element within a hidden one.
func (p *page) staysConcealed(tag atom.Atom, closed bool) bool {
	if len(p.concealed) == 0 {
		return false
	}
	tags := p.concealedTags
	within := tags[atom.Table]+tags[atom.Ul]+tags[atom.Ol]+tags[atom.Dl] > 0
	if !within && slices.Contains(endedBy[p.concealed[0]], tag) {
		p.reveal()
		return false
	}
	if !closed && !void[tag] {
		p.conceal(tag)
	}
	return true
}

func (p *page) conceal(tag atom.Atom) {
	p.concealed = append(p.concealed, tag)
	if p.concealedTags == nil {
		p.concealedTags = map[atom.Atom]int{}
	}
	p.concealedTags[tag]++
}

func (p *page) popConcealed() atom.Atom {
	last := len(p.concealed) - 1
	tag := p.concealed[last]
	p.concealed = p.concealed[:last]
	p.concealedTags[tag]--
	p.searched++
	return tag
}

func (p *page) reveal() { p.concealed, p.concealedTags = nil, nil }

func attributeOf(token html.Token, name string) string {
	for _, a := range token.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

// spanOf returns how many rows or columns a cell covers.
func spanOf(token html.Token, name string, most int) int {
	n, err := strconv.Atoi(strings.TrimSpace(attributeOf(token, name)))
	if err != nil {
		return 1
	}
	return min(max(n, 1), most)
}

func (p *page) end(tag atom.Atom) error {
	if len(p.concealed) > 0 {
		if p.concealedTags[tag] > 0 {
			for p.popConcealed() != tag {
			}
			return nil
		}
		if endedBy[p.concealed[0]] == nil {
			return nil
		}
		p.reveal() // the element around it ends
	}
	if invisible[tag] {
		p.hidden = max(p.hidden-1, 0)
		return nil
	}
	if p.hidden > 0 {
		return nil
	}
	if tag != atom.Td && tag != atom.Th && tag != atom.Br {
		p.text.WriteString(blocks[tag])
	}
	if isHeadingTag(tag) && p.heading != nil {
		p.lastTitle, p.heading = oneLine(p.heading.String()), nil
	}
	if len(p.open) == 0 {
		return nil
	}
	t := p.open[len(p.open)-1]
	switch tag {
	case atom.Table:
		return p.closeTable()
	case atom.Tr:
		t.endRow()
	case atom.Td, atom.Th:
		t.endCell()
	case atom.Caption:
		if t.caption != nil {
			t.name, t.caption = cmp.Or(oneLine(t.caption.String()), t.name), nil
		}
	}
	return nil
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// addText adds visible text to where it stands.
func (p *page) addText(text string) {
	if p.hidden > 0 || len(p.concealed) > 0 {
		return
	}
	flat := oneLine(text)
	if flat == "" {
		flat = " "
	} else {
		// Blanks between elements part words.
		if strings.TrimLeft(text, " \t\r\n") != text {
			flat = " " + flat
		}
		if strings.TrimRight(text, " \t\r\n") != text {
			flat += " "
		}
	}
	if len(p.found.parts) == 0 { // or else it is not read
		p.text.WriteString(flat)
	}
	if p.heading != nil {
		p.heading.WriteString(flat)
	}
	if len(p.open) == 0 {
		return
	}
	switch t := p.open[len(p.open)-1]; {
	case t.cell != nil:
		t.cell.WriteString(flat)
	case t.caption != nil:
		t.caption.WriteString(flat)
	}
}

// closeTable keeps the inner table if it has a row below the header.
func (p *page) closeTable() error {
	t := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	t.endRow()
	g := &grid{merges: t.merges}
	filled := 0
	for i, row := range t.rows {
		g.count(i, row)
		if strings.Join(row, "") != "" {
			filled++
		}
	}
	if filled < 2 {
		return nil
	}
	g.each = func(give func(int, []string) error) error {
		for i, row := range t.rows {
			if strings.Join(row, "") == "" {
				continue
			}
			if err := give(i, row); err != nil {
				return err
			}
		}
		return nil
	}
	return p.found.add(p.in.Name, Part{Name: Excerpt(cmp.Or(oneLine(t.name), p.lastTitle, "table 1")), Format: CSV, grid: g,
		write: func(_ context.Context, out io.Writer) error { return g.writeCSV(out, p.headerRow) }})
}
