package ingest

import "context"

// UnpackAll unpacks all parts of a source without DuckDB.
func UnpackAll(ctx context.Context, from Source, work string) error {
	r := newRun(nil, Job{MaxUnpacked: 10 << 20}, work)
	if err := r.start([]Source{from}); err != nil {
		return err
	}
	in, format, err := r.files.Open(ctx, from.Path, from.Name)
	if err != nil {
		return err
	}
	c, err := r.files.Unpack(ctx, in, format)
	if c == nil {
		return err
	}
	defer c.Close()
	for _, p := range c.Tables() {
		if _, err := r.files.OpenPart(ctx, p); err != nil {
			return err
		}
	}
	return nil
}
