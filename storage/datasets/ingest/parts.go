package ingest

import (
	"context"
	"fmt"
	"os"

	"parley/storage/datasets/ingest/source"
)

// Parts returns the names of the tables and texts in a source from which
// [Job].Options.Sheet chooses; none for a source that is one table. It leaves nothing
// in the folder that it works in. Errors are as those of [Run].
func Parts(ctx context.Context, from Source, dir string) (names []string, err error) {
	work, err := os.MkdirTemp(dir, ".ingest-*")
	if err != nil {
		return nil, fmt.Errorf("create work folder: %w", err)
	}
	defer os.RemoveAll(work)
	r := newRun(nil, Job{}, work)
	if err := r.start([]Source{from}); err != nil {
		return nil, err
	}
	in, format, err := r.files.Open(ctx, from.Path, from.Name)
	if err != nil {
		return nil, err
	}
	c, err := r.files.Unpack(ctx, in, format)
	if c == nil {
		return nil, err
	}
	defer c.Close()
	for _, p := range c.Tables() {
		names = append(names, p.Name)
	}
	return names, nil
}

// checkParts checks the parts of a container that were chosen.
func (r *run) checkParts(ctx context.Context, c *source.Container, name string) ([]*table, error) {
	chosen, err := c.Choose(name, r.job.Options.Sheet)
	if err != nil {
		return nil, err
	}
	r.files.Warnings = append(r.files.Warnings, c.Warnings...)
	tables := make([]*table, 0, len(chosen))
	for _, p := range chosen {
		in, err := r.files.OpenPart(ctx, p)
		if err != nil {
			return nil, err
		}
		t, err := r.checkFormat(ctx, p.Format, in)
		if err != nil {
			return nil, err
		}
		tables = append(tables, t)
	}
	return tables, nil
}
