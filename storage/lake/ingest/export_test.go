package ingest

import "context"

// UnpackAll unpacks all parts of a source without DuckDB.
func UnpackAll(ctx context.Context, source Source, work string) error {
	r := newRun(nil, Job{MaxUnpacked: 10 << 20}, work)
	if err := r.progress.start(nil, []Source{source}); err != nil {
		return err
	}
	in, format, err := r.openInput(ctx, source.Path, source.Name)
	if err != nil {
		return err
	}
	c, err := r.openContainer(ctx, in, format)
	if c == nil {
		return err
	}
	defer c.close()
	for _, p := range c.parts {
		if p.write == nil {
			continue
		}
		if _, err := r.writePart(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
