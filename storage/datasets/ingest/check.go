package ingest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest/source"
)

// checks are the checks of the formats.
var checks = map[*source.Format]func(r *run, ctx context.Context, in source.Input) (*table, error){
	source.CSV: checkCSV(",;\t|"), source.TSV: checkCSV("\t"),
	source.JSON: (*run).checkJSON, source.JSONLines: (*run).checkJSON,
	source.Parquet: (*run).checkParquet,
	source.Text:    checkText(false), source.Markdown: checkText(true),
}

// encodingError is a refusal of text that is not UTF-8.
type encodingError struct {
	place   string
	refusal *domain.Error
}

func (e *encodingError) Error() string { return e.refusal.Error() }
func (e *encodingError) Unwrap() error { return e.refusal }

// notUTF8 refuses text at a place.
func notUTF8(place string) error {
	return &encodingError{place, refuse("%s: the text is damaged: it is neither UTF-8 nor Windows-1252; save the file as UTF-8", place)}
}

// checkFormat checks a source of a format. Text that is not UTF-8 is read as
// Windows-1252, if it can be that.
func (r *run) checkFormat(ctx context.Context, f *source.Format, in source.Input) (*table, error) {
	before := r.progress.now
	t, err := r.checkLines(ctx, f, in)
	wrong, ok := err.(*encodingError) //nolint:errorlint // checks return it as it is
	if ok && r.job.Options.Encoding == source.EncodingUTF8 {
		return nil, refuse("%s: the text is not UTF-8; leave out the option encoding, or give another one", wrong.place)
	}
	if !ok || r.job.Options.Encoding != "" {
		return t, err
	}
	var possible, doubtful bool
	in.Path, err = r.files.RewriteTemp(in.Path, func(from io.Reader, to io.Writer) (err error) {
		possible, doubtful, err = source.DecodeWindows1252(from, to)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !possible {
		return nil, wrong.refusal
	}
	r.progress.now.Rows = before.Rows
	if in.Head, err = source.ReadHead(in.Path); err != nil {
		return nil, err
	}
	r.files.Encoding = source.EncodingWindows1252
	if doubtful {
		r.files.Warnings = append(r.files.Warnings, domain.IngestWarning{Message: in.Name + ": the text is not UTF-8 and was read as windows-1252; if its letters are wrong, save the file as UTF-8"})
	}
	return r.checkLines(ctx, f, in)
}

// checkLines checks a source of a format, in which a CR alone may end lines.
func (r *run) checkLines(ctx context.Context, f *source.Format, in source.Input) (*table, error) {
	if f.Lines && bytes.IndexByte(in.Head, '\r') >= 0 && bytes.IndexByte(in.Head, '\n') < 0 {
		path, err := r.files.RewriteTemp(in.Path, func(from io.Reader, to io.Writer) error {
			_, err := io.Copy(to, source.ReaderFunc(func(p []byte) (int, error) {
				n, err := from.Read(p)
				for i, c := range p[:n] {
					if c == '\r' {
						p[i] = '\n'
					}
				}
				return n, err
			}))
			return err
		})
		if err != nil {
			return nil, err
		}
		in.Path, in.Head = path, bytes.ReplaceAll(in.Head, []byte{'\r'}, []byte{'\n'})
	}
	t, err := checks[f](r, ctx, in)
	if err == nil {
		r.know(t.columns)
	}
	return t, err
}

// valueBytes is the least that a value takes.
const valueBytes = 8

// checkDecoded refuses a source that, with those before it, decodes to too much
// for their size.
func (r *run) checkDecoded(name string, decoded float64) error {
	decoded += float64(r.decoded)
	limit := source.DecodedLimit(r.uploaded)
	if decoded <= float64(limit) {
		return nil
	}
	return refuse("%s is too large when decoded: %.1f GiB of values from %d bytes, the limit is %.1f GiB",
		name, decoded/(1<<30), r.uploaded, float64(limit)/(1<<30))
}

// checkFooter refuses a Parquet file whose footer says that it decodes to too
// much, before any of it is read. It returns the rows, and the most rows of a row group.
func (r *run) checkFooter(ctx context.Context, path, name string) (rows, groupRows int64, err error) {
	var counted, values, bytes float64
	err = r.db.QueryRowContext(ctx, fmt.Sprintf(`
SELECT CAST(coalesce(sum(rows), 0) AS DOUBLE), CAST(coalesce(sum("values"), 0) AS DOUBLE), CAST(coalesce(sum(bytes), 0) AS DOUBLE),
	CAST(coalesce(max(rows), 0) AS BIGINT)
FROM (
	SELECT row_group_id, max(row_group_num_rows) AS rows, sum(greatest(num_values, row_group_num_rows, 0)) AS "values",
		sum(greatest(total_uncompressed_size, 0)) AS bytes
	FROM parquet_metadata(%s)
	GROUP BY row_group_id
)`, sqltext.Text(path))).Scan(&counted, &values, &bytes, &groupRows)
	if err == nil {
		rows, err = fileRows(ctx, r.db, path)
	}
	if err != nil || float64(rows) != counted {
		return 0, 0, r.badParquet(ctx, name, err)
	}
	return rows, groupRows, r.checkDecoded(name, max(values*valueBytes, bytes))
}

// measureValues returns the bytes that the values of a Parquet file take. The
// footer can be wrong, and counts repeated values once. Lengths need no decoded
// values, so this is fast where hashing would not be.
func (r *run) measureValues(ctx context.Context, t *table, from string, casts []string) (float64, error) {
	decoded := float64(t.rows) * float64(len(casts)) * valueBytes
	var lengths []string
	for i, c := range t.columns {
		switch {
		case c.Type == typeVarchar || c.Type == typeJSON:
			lengths = append(lengths, fmt.Sprintf("coalesce(sum(strlen(%s)), 0)", casts[i]))
		case c.Type == typeBlob:
			lengths = append(lengths, fmt.Sprintf("coalesce(sum(octet_length(%s)), 0)", casts[i]))
		case isNested(c.Type):
			lengths = append(lengths, fmt.Sprintf("coalesce(sum(strlen(CAST(%s AS VARCHAR))), 0)", casts[i]))
		}
	}
	if len(lengths) == 0 {
		return decoded, nil
	}
	var length float64
	query := fmt.Sprintf("SELECT CAST(%s AS DOUBLE) FROM %s", strings.Join(lengths, " + "), from)
	if err := r.db.QueryRowContext(ctx, query).Scan(&length); err != nil {
		return 0, r.badParquet(ctx, t.name, err)
	}
	return decoded + length, nil
}
