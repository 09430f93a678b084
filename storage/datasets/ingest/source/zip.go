package source

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"parley/internal/domain"
)

// maxEntries is how many files a ZIP archive may have.
const maxEntries = 100_000

// openZip returns the parts of a ZIP archive: a workbook's sheets, a document's
// text, or its files.
func (r *Reader) openZip(ctx context.Context, in Input) (*Container, error) {
	archive, err := zip.OpenReader(in.Path)
	if err != nil {
		return nil, refuseDamaged(in.Name)
	}
	if len(archive.File) > maxEntries {
		archive.Close()
		return nil, refuse("%s holds more than %d files", in.Name, maxEntries)
	}
	has := func(prefix string) bool {
		return slices.ContainsFunc(archive.File, func(f *zip.File) bool { return strings.HasPrefix(strings.ToLower(f.Name), prefix) })
	}
	office := has("[content_types].xml")
	switch {
	case office && has("xl/") && !has("xl/workbook.bin"):
		return r.openWorkbook(ctx, in, archive)
	case office && has("word/"):
		return r.openDocument(ctx, in, archive)
	}
	defer archive.Close()
	switch {
	case has("xl/workbook.bin"):
		return nil, refuse("%s is a binary Excel workbook (.xlsb); save it as .xlsx and send that", in.Name)
	case office && has("ppt/"):
		return nil, refuse("%s is a presentation; save its text as .txt and send that", in.Name)
	case has("mimetype") && has("content.xml"):
		return nil, refuse("%s is an OpenDocument file; save it as .xlsx, .docx or .csv and send that", in.Name)
	case r.zipped:
		return nil, refuse("%s is a ZIP archive within another; send it by itself", in.Name)
	}
	r.zipped = true
	defer func() { r.zipped = false }()
	return r.openArchive(ctx, in.Name, archive.File)
}

// trimExtension returns a file's name without the end that says its format.
func trimExtension(name string) string {
	name = trimGzip(name)
	if extension := path.Ext(name); isKnown(extension) {
		return strings.TrimSuffix(name, extension)
	}
	return name
}

func isKnown(extension string) bool {
	extension = strings.ToLower(extension)
	return extensions[extension] != nil || archived[extension]
}

// openArchive unpacks the files whose names say that they can be read, and returns them and
// the parts of those that are containers.
func (r *Reader) openArchive(ctx context.Context, name string, files []*zip.File) (c *Container, err error) {
	c = &Container{}
	var inner []*Container
	c.release = func() {
		for _, c := range inner {
			c.Close()
		}
	}
	defer func() {
		if err != nil {
			c.Close()
		}
	}()
	var known []*zip.File
	var others []string
	var size uint64
	for _, f := range files {
		base := path.Base(f.Name)
		switch {
		case f.FileInfo().IsDir(), strings.HasPrefix(f.Name, "__MACOSX/"), strings.HasPrefix(base, "."):
		case !isKnown(path.Ext(trimGzip(base))):
			others = append(others, base)
		case f.Flags&1 != 0:
			return c, refuse("%s is encrypted; pack its files without a password and send it again", name)
		default:
			known = append(known, f)
			size += min(f.UncompressedSize64, maxDecoded)
		}
	}
	switch limit := r.unpackLimit(); {
	case size > uint64(max(limit, 0)):
		return c, refuseTooLarge(name, limit)
	case len(known) > maxParts:
		return c, refuse("%s holds %d files that can be read, where at most %d are", name, len(known), maxParts)
	case len(known) == 0:
		return c, refuse("%s holds no file that can be read; %s", name, knownFormats)
	}
	if len(others) > 0 {
		c.Warnings = append(c.Warnings, domain.IngestWarning{
			Message: fmt.Sprintf("%s: not read, since their names do not say what they are: %s", name, ListFirst(others)),
		})
	}
	var refusals []error
	for _, f := range known {
		found, err := r.openEntry(ctx, name, f)
		var refusal *domain.Error
		switch {
		case errors.As(err, &refusal) && !errors.Is(err, errTooLarge) && !errors.Is(err, errDamaged):
			refusals = append(refusals, err)
			c.Warnings = append(c.Warnings, domain.IngestWarning{Message: "not read: " + refusal.Message})
			continue
		case err != nil:
			return c, err
		}
		inner = append(inner, found)
		c.Warnings = append(c.Warnings, found.Warnings...)
		for _, p := range found.parts {
			if len(found.parts) > 1 && len(known) > 1 {
				p.Name = trimExtension(path.Base(f.Name)) + " " + p.Name
			} else if len(known) > 1 {
				p.Name = trimExtension(path.Base(f.Name))
			}
			if err := c.add(name, p); err != nil {
				return c, err
			}
		}
	}
	if len(refusals) == len(known) {
		return c, refusals[0]
	}
	if texts := c.unchosenTexts(); len(texts) > 0 {
		c.Warnings = append(c.Warnings, domain.IngestWarning{
			Message: fmt.Sprintf("%s: texts beside tables are not read unless they are chosen: %s", name, ListFirst(texts)),
		})
	}
	return c, nil
}

// openEntry unpacks a file of an archive. One that is no container is its own part.
func (r *Reader) openEntry(ctx context.Context, archive string, f *zip.File) (*Container, error) {
	base := strings.ToValidUTF8(path.Base(f.Name), "�")
	shown := partName(archive, base)
	unpacked, err := r.WriteTemp(func(out io.Writer) error { return unzip(ctx, f, out) })
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, errDamaged):
		return nil, fmt.Errorf("%w: %w", refuse("%s is damaged: %s cannot be unpacked completely", archive, base), errDamaged)
	case err != nil:
		return nil, err
	}
	r.unpacked += int64(f.UncompressedSize64)
	in, format, err := r.Open(ctx, unpacked, base)
	if err != nil {
		return nil, err
	}
	c, err := r.Unpack(ctx, in, format)
	if err != nil {
		return nil, err
	}
	if c == nil {
		if !format.Prose {
			in.Name = shown
		}
		in.Head = nil // OpenPart reads it
		c = &Container{parts: []Part{{Name: trimExtension(base), Format: format, In: in}}}
	}
	return c, nil
}

// unzip unpacks a file. The archive's reader fails where there is more than it says.
func unzip(ctx context.Context, f *zip.File, out io.Writer) error {
	content, err := f.Open()
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	defer content.Close()
	_, err = io.Copy(out, ReaderFunc(func(p []byte) (int, error) {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		n, err := content.Read(p)
		if err != nil && err != io.EOF {
			err = fmt.Errorf("%w: %w", errDamaged, err)
		}
		return n, err
	}))
	return err
}
