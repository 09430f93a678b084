package source

import (
	"archive/zip"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"parley/internal/domain"
	"parley/storage/datasets/ingest/xlsx"
	"parley/storage/datasets/ingest/xmlstream"
)

// openWorkbook returns the visible sheets with values.
func (r *Reader) openWorkbook(ctx context.Context, in Input, files *zip.ReadCloser) (*Container, error) {
	w, err := xlsx.Open(ctx, in.Name, files, r.WriteTemp)
	if err != nil {
		return nil, refuseXML(in.Name, err)
	}
	c := &Container{release: w.Close}
	if w.HasMacros {
		c.Warnings = append(c.Warnings, domain.IngestWarning{Message: in.Name + ": its macros are not read"})
	}
	return c, r.addSheets(ctx, c, in.Name, w)
}

// addSheets adds the visible sheets with values to a container.
func (r *Reader) addSheets(ctx context.Context, c *Container, name string, w *xlsx.Workbook) error {
	size, limit := w.TextsSize, r.unpackLimit()
	var hidden []string
	for _, sheet := range w.Sheets {
		if err := ctx.Err(); err != nil {
			return err
		}
		if sheet.Hidden {
			hidden = append(hidden, sheet.Name)
			continue
		}
		if size += min(sheet.Size, maxDecoded); size > uint64(max(limit, 0)) {
			return refuseTooLarge(name, limit)
		}
		// One that cannot be read is refused when it is chosen.
		has, err := sheet.HasValues(ctx)
		var wrong *xmlstream.Error
		switch {
		case errors.As(err, &wrong):
			has = true
		case err != nil:
			return err
		}
		if has {
			if err := c.add(name, r.sheetPart(name, w, sheet)); err != nil {
				return err
			}
		}
	}
	r.unpacked += int64(size)
	if len(hidden) > 0 {
		list := ListFirst(hidden)
		if len(c.parts) == 0 {
			return refuse("%s has only hidden sheets: %s; unhide one and send the file again", name, list)
		}
		c.Warnings = append(c.Warnings, domain.IngestWarning{Message: fmt.Sprintf("%s: hidden sheets are not read: %s", name, list)})
	}
	return nil
}

// sheetPart returns a sheet as a table.
func (r *Reader) sheetPart(name string, w *xlsx.Workbook, sheet xlsx.Sheet) Part {
	g := &grid{formats: w.Formats}
	return Part{
		Name: sheet.Name, Format: CSV, grid: g,
		write: func(ctx context.Context, out io.Writer) error {
			if err := w.ReadTexts(ctx); err != nil {
				return refuseXML(name, err)
			}
			cells, err := r.WriteTemp(func(out io.Writer) error { return r.copyCells(ctx, sheet, g, out) })
			if err != nil {
				return refuseXML(g.name, err)
			}
			defer os.Remove(cells)
			g.each = func(give func(int, []string) error) error { return eachCopied(ctx, cells, give) }
			return g.writeCSV(out, r.Options.HeaderRow)
		},
	}
}

// copyCells writes the cells of rows with values, each after its number from 0, and counts them:
// which columns there are is known at the end alone.
func (r *Reader) copyCells(ctx context.Context, sheet xlsx.Sheet, g *grid, to io.Writer) error {
	g.merges, g.last = nil, nil
	out := csv.NewWriter(&limitedWriter{out: to, left: r.unpackLimit()})
	var record []string
	content, err := sheet.Read(ctx, g.name, func(row int, cells []string) error {
		g.count(row, cells)
		record = append(append(record[:0], strconv.Itoa(row)), cells...)
		return out.Write(record)
	})
	if err != nil {
		return err
	}
	g.hidden, g.marked = content.HiddenColumns, content.Marked
	for _, m := range content.Merges {
		g.merges = append(g.merges, merge{m[0], m[1], m[2], m[3]})
	}
	r.warnOfSheet(g.name, content)
	out.Flush()
	return out.Error()
}

// warnOfSheet says what was read otherwise than it may be meant.
func (r *Reader) warnOfSheet(name string, c *xlsx.Content) {
	warn := func(o xlsx.Occurrences, message string) {
		if o.Count > 0 {
			r.Warnings = append(r.Warnings, domain.IngestWarning{Line: int64(o.Row), Message: name + ": " + message})
		}
	}
	warn(c.HiddenRows, Count(c.HiddenRows.Count, "hidden or filtered row")+" read too; to leave them out, delete them from the file")
	warn(c.Failed, fmt.Sprintf("%d cells hold an error of a formula, such as #N/A; they are read as missing", c.Failed.Count))
	warn(c.Unvalued, fmt.Sprintf("%s without a stored value, the first in %s, read as missing; open the file in Excel, save it and send that",
		Count(c.Unvalued.Count, "formula"), c.UnvaluedCell))
}

// eachCopied returns the rows that copyCells wrote.
func eachCopied(ctx context.Context, path string, give func(int, []string) error) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("open temporary file: %w", err)
	}
	defer file.Close()
	rows := csv.NewReader(file)
	rows.FieldsPerRecord, rows.ReuseRecord = -1, true
	for {
		record, err := rows.Read()
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return fmt.Errorf("read temporary file: %w", err)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		number, err := strconv.Atoi(record[0])
		if err != nil {
			return fmt.Errorf("read temporary file: %w", err)
		}
		if err := give(number, record[1:]); err != nil {
			return err
		}
	}
}
