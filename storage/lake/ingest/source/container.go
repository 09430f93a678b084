package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"parley/storage"
)

const (
	// maxParts is how many parts a container may have.
	maxParts = 1000
	// maxPartsNamed is how many parts a message names.
	maxPartsNamed = 20
)

// container is a file that holds tables or texts, such as a workbook.
type container struct {
	parts    []part
	warnings []storage.IngestWarning
	// release frees what the parts need; it may be nil.
	release func()
}

// part is a table or a text of a container. Its content is checked as a file of its
// format.
type part struct {
	name   string
	format *format
	// in is the content, or only what messages call it, when write gives the
	// content.
	in    input
	write func(ctx context.Context, out io.Writer) error
	// grid is what write writes as CSV, if it does.
	grid *grid
}

// Parts gives the names of the tables and texts in a source from which
// [Job].Options.Sheet chooses; none for a source that is one table. It leaves nothing
// in the folder that it works in. Errors are as those of [Run].
func Parts(ctx context.Context, source Source, dir string) (names []string, err error) {
	work, err := os.MkdirTemp(dir, ".ingest-*")
	if err != nil {
		return nil, fmt.Errorf("create work folder: %w", err)
	}
	defer os.RemoveAll(work)
	r := newRun(nil, Job{}, work)
	if err := r.progress.start(nil, []Source{source}); err != nil {
		return nil, err
	}
	in, format, err := r.openInput(ctx, source.Path, source.Name)
	if err != nil {
		return nil, err
	}
	c, err := r.openContainer(ctx, in, format)
	if c == nil {
		return nil, err
	}
	defer c.close()
	for _, p := range c.tables() {
		names = append(names, p.name)
	}
	return names, nil
}

// openContainer gives the parts of a container, nil for a file that is none. Its
// readers are other people's, so that a panic is taken for a damaged file.
func (r *run) openContainer(ctx context.Context, in input, f *format) (c *container, err error) {
	open := f.open
	if f == formatZip {
		open = (*run).openZip
	}
	if open == nil {
		return nil, nil
	}
	defer recoverDamaged(in.name, &err)
	c, err = open(r, ctx, in)
	if err == nil && c != nil && len(c.parts) > maxParts {
		err = refuse("%s holds %d tables, where at most %d are read", in.name, len(c.parts), maxParts)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *container) close() {
	if c != nil && c.release != nil {
		c.release()
	}
}

// tables gives the parts that are tables; where there are none, the texts.
func (c *container) tables() []part {
	var tables []part
	for _, p := range c.parts {
		if !p.format.prose {
			tables = append(tables, p)
		}
	}
	if len(tables) == 0 {
		return c.parts
	}
	return tables
}

// choose gives the part that is called sheet, without regard to case. Without a
// choice it gives the only table, or all texts where there is no table.
func (c *container) choose(name, sheet string) ([]part, error) {
	tables := c.tables()
	if sheet != "" {
		for _, wanted := range []string{sheet, trimExtension(sheet)} {
			for _, p := range c.parts {
				if strings.EqualFold(p.name, wanted) {
					return []part{p}, nil
				}
			}
		}
		return nil, refuse("%s has no table %s; it holds %s", name, quote(excerpt([]byte(sheet))), cmp.Or(listParts(tables), "none"))
	}
	switch {
	case len(tables) == 0:
		return nil, refuse("%s holds no table and no text", name)
	case len(tables) > 1 && !tables[0].format.prose:
		return nil, refuse("%s holds %d tables: %s; choose one", name, len(tables), listParts(tables))
	}
	return tables, nil
}

func listParts(parts []part) string {
	names := make([]string, 0, maxPartsNamed)
	for _, p := range parts[:min(len(parts), maxPartsNamed)] {
		names = append(names, p.name)
	}
	list := strings.Join(names, ", ")
	if more := len(parts) - len(names); more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// checkParts checks the parts of a container that were chosen.
func (r *run) checkParts(ctx context.Context, c *container, name string) ([]*table, error) {
	chosen, err := c.choose(name, r.job.Options.Sheet)
	if err != nil {
		return nil, err
	}
	r.warnings = append(r.warnings, c.warnings...)
	tables := make([]*table, 0, len(chosen))
	for _, p := range chosen {
		t, err := r.checkPart(ctx, p)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}

func (r *run) checkPart(ctx context.Context, p part) (*table, error) {
	in := p.in
	if p.write != nil {
		path, err := r.writePart(ctx, p)
		if err != nil {
			return nil, err
		}
		if in.head, err = readHead(path); err != nil {
			return nil, err
		}
		in.path = path
		if p.grid != nil {
			in.headerRow = p.grid.headerRow
		}
	}
	return r.checkFormat(ctx, p.format, in)
}

// errTooLarge says that a source unpacks to more than its limit.
var errTooLarge = errors.New("too large")

// writePart writes the content of a part to a file.
func (r *run) writePart(ctx context.Context, p part) (path string, err error) {
	limit := r.unpackLimit()
	path, err = r.writeTemp(func(out io.Writer) (err error) {
		defer recoverDamaged(p.in.name, &err)
		limited := &limitedWriter{out: out, left: limit}
		err = p.write(ctx, limited)
		r.unpacked += limit - limited.left
		return err
	})
	if errors.Is(err, errTooLarge) {
		err = refuseTooLarge(p.in.name, limit)
	}
	return path, cmp.Or(ctx.Err(), err)
}

// unpackLimit is how many bytes the sources may still unpack to.
func (r *run) unpackLimit() int64 {
	return min(r.job.MaxUnpacked, decodedLimit(r.progress.now.Total)-r.unpacked)
}

func refuseTooLarge(name string, limit int64) error {
	return fmt.Errorf("%w: %w", refuse("%s unpacks to more than %d bytes, the limit", name, limit), errTooLarge)
}

// refuseDamaged is for a file that its format's reader cannot read.
func refuseDamaged(name string) error {
	return refuse("%s is damaged: it cannot be read to its end; open it in the program that wrote it, save it again and send that", name)
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

// unique gives a name that no part has: the given one, or one with a number.
func (c *container) unique(name string) string {
	name = cmp.Or(strings.TrimSpace(name), "table")
	for n, base := 2, name; ; n++ {
		taken := false
		for _, p := range c.parts {
			taken = taken || strings.EqualFold(p.name, name)
		}
		if !taken {
			return name
		}
		name = fmt.Sprintf("%s %d", base, n)
	}
}

// partName is what messages call a part.
func partName(name, part string) string { return fmt.Sprintf("%s (%s)", name, part) }
