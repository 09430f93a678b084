package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xmlstream"
)

const (
	// maxParts is how many parts a container may have.
	maxParts = 1000
	// maxPartName limits the name of a part, in bytes, so that a number can be added.
	maxPartName = 1000
	// MaxNamed is how many names a message lists.
	MaxNamed = 20
)

// Container is a file that holds tables or texts, such as a workbook.
type Container struct {
	parts []Part
	names Names
	// textFirst says that the text is read unless a table is chosen.
	textFirst bool
	// Warnings are about what of the file is not read.
	Warnings []domain.IngestWarning
	// release frees what the parts need; it may be nil.
	release func()
}

// Part is a table or a text of a container. Its content is checked as a file of its
// format.
type Part struct {
	Name   string
	Format *Format
	// In is the content, or only what messages call it, when write writes the
	// content.
	In    Input
	write func(ctx context.Context, out io.Writer) error
	// grid is what write writes as CSV, if it does.
	grid *grid
}

// Unpack returns the parts of a container, nil for a file that is none. A panic, of a
// library too, is taken for a damaged file.
func (r *Reader) Unpack(ctx context.Context, in Input, f *Format) (c *Container, err error) {
	open := f.open
	if f == formatZip {
		open = (*Reader).openZip
	}
	if open == nil {
		return nil, nil
	}
	defer recoverDamaged(in.Name, &err)
	if c, err = open(r, ctx, in); err != nil {
		c.Close()
		return nil, err
	}
	return c, nil
}

// Close releases what the parts need. A nil container has nothing to release.
func (c *Container) Close() {
	if c != nil && c.release != nil {
		c.release()
	}
}

// Tables returns the parts that are tables; where there are none, or the text comes first, all parts.
func (c *Container) Tables() []Part {
	if c.textFirst {
		return c.parts
	}
	var tables []Part
	for _, p := range c.parts {
		if !p.Format.Prose {
			tables = append(tables, p)
		}
	}
	if len(tables) == 0 {
		return c.parts
	}
	return tables
}

// Choose returns the part that is called sheet, without regard to case. Without a
// choice it returns the only table, or all texts where there is no table.
func (c *Container) Choose(name, sheet string) ([]Part, error) {
	tables := c.Tables()
	if sheet != "" {
		for _, wanted := range []string{sheet, trimExtension(sheet)} {
			for _, p := range c.parts {
				if strings.EqualFold(p.Name, strings.TrimSpace(wanted)) {
					return []Part{p}, nil
				}
			}
		}
		return nil, refuse("%s has no table %s; it holds %s", name, strconv.Quote(Excerpt(sheet)), cmp.Or(listParts(tables), "none"))
	}
	switch {
	case len(tables) == 0:
		return nil, refuse("%s holds no table and no text", name)
	case c.textFirst:
		if len(tables) > 1 {
			c.Warnings = append(c.Warnings, domain.IngestWarning{Message: fmt.Sprintf("%s has tables that are not read with its text: %s; choose one to read it", name, listParts(tables[1:]))})
		}
		return tables[:1], nil
	case len(tables) > 1 && !tables[0].Format.Prose:
		return nil, refuse("%s holds %d tables: %s; choose one", name, len(tables), listParts(tables))
	}
	return tables, nil
}

// unchosenTexts returns the names of the texts of a container that has tables.
func (c *Container) unchosenTexts() (names []string) {
	if len(c.Tables()) == len(c.parts) {
		return nil
	}
	for _, p := range c.parts {
		if p.Format.Prose {
			names = append(names, p.Name)
		}
	}
	return names
}

func listParts(parts []Part) string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.Name
	}
	return ListFirst(names)
}

// ListFirst lists the first names.
func ListFirst(names []string) string {
	list := make([]string, 0, MaxNamed)
	for _, name := range names[:min(len(names), MaxNamed)] {
		list = append(list, Excerpt(name))
	}
	if more := len(names) - len(list); more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(list, ", "), more)
	}
	return strings.Join(list, ", ")
}

// errTooLarge says that a source unpacks to more than its limit.
var errTooLarge = errors.New("too large")

// OpenPart returns the content of a part, which it writes to a file where it is not in one.
func (r *Reader) OpenPart(ctx context.Context, p Part) (in Input, err error) {
	if in = p.In; p.write == nil {
		in.Head, err = ReadHead(in.Path)
		return in, err
	}
	limit := r.unpackLimit()
	in.Path, err = r.WriteTemp(func(out io.Writer) (err error) {
		defer recoverDamaged(p.In.Name, &err)
		limited := &limitedWriter{out: out, left: limit}
		err = p.write(ctx, limited)
		r.unpacked += limit - limited.left
		return err
	})
	var refusal *domain.Error
	if errors.Is(err, errTooLarge) && !errors.As(err, &refusal) {
		err = refuseTooLarge(p.In.Name, limit)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil {
		return in, err
	}
	if p.grid != nil {
		in.HeaderRow, in.HeaderGuessed, in.Forms = &p.grid.headerRow, p.grid.guessed, p.grid.forms
		r.Warnings = append(r.Warnings, p.grid.warnings...)
	}
	in.Head, err = ReadHead(in.Path)
	return in, err
}

// unpackLimit is how many bytes the sources may still unpack to.
func (r *Reader) unpackLimit() int64 {
	return min(r.MaxUnpacked, DecodedLimit(r.Size)-r.unpacked)
}

func refuseTooLarge(name string, limit int64) error {
	return fmt.Errorf("%w: %w", refuse("%s unpacks to more than %d bytes, the limit", name, limit), errTooLarge)
}

// refuseDamaged is for a file that its format's reader cannot read.
func refuseDamaged(name string) error {
	return refuse("%s is damaged: it cannot be read to its end; open it in the program that wrote it, save it again and send that", name)
}

// refuseXML refuses a file whose XML cannot be read, or not in bounded memory. Other errors stay
// as they are.
func refuseXML(name string, err error) error {
	var wrong *xmlstream.Error
	switch {
	case !errors.As(err, &wrong):
		return err
	case errors.Is(wrong.Err, xmlstream.ErrLong):
		return fmt.Errorf("%w: %w", refuse("%s unpacks to too much: a row or text of it has more than %d bytes", name, MaxValue), errTooLarge)
	}
	return refuseDamaged(name)
}

func recoverDamaged(name string, err *error) {
	if recover() != nil {
		*err = refuseDamaged(name)
	}
}

// limitedWriter fails with errTooLarge beyond a number of bytes.
type limitedWriter struct {
	out  io.Writer
	left int64
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= int64(len(p)); w.left < 0 {
		return 0, errTooLarge
	}
	return w.out.Write(p)
}

// add adds a part of a file, with a name that no other part has. It refuses more than maxParts, so
// that a reader stops there.
func (c *Container) add(file string, p Part) error {
	if len(c.parts) == maxParts {
		return refuse("%s holds more than %d tables, the limit", file, maxParts)
	}
	if len(p.Name) > maxPartName {
		return refuse("%s holds a table whose name has more than %d bytes, the limit", file, maxPartName)
	}
	p.Name = c.names.Unique(cmp.Or(strings.TrimSpace(p.Name), "table"), " ")
	if p.In.Name == "" {
		p.In.Name = partName(file, p.Name)
	}
	if p.grid != nil {
		p.grid.name = p.In.Name
	}
	c.parts = append(c.parts, p)
	return nil
}

// partName is what messages call a part.
func partName(name, part string) string { return fmt.Sprintf("%s (%s)", name, part) }
