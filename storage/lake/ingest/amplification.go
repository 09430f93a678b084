package ingest

import (
	"context"
	"fmt"
	"strings"

	"parley/internal/sqltext"
)

// A small file can decode to very many values: gzip and Parquet store repeated
// values in a few bytes, and an empty JSON object is a row of all columns. So the
// size of a source limits what it may decode to.
const (
	// decodedRatio is the most bytes that a byte of the sources may decode to,
	// unless all of them decode to less than minDecoded.
	decodedRatio = 200
	minDecoded   = 1 << 30
	// maxDecoded is the most bytes that sources may decode to.
	maxDecoded = 100 << 30
	// valueBytes is the least that a value takes.
	valueBytes = 8
)

// decodedLimit is how many bytes sources of a size may decode to.
func decodedLimit(size int64) int64 {
	return min(max(minDecoded, size*decodedRatio), maxDecoded)
}

// checkDecoded refuses a source that, with those before it, decodes to too much
// for their size.
func (r *run) checkDecoded(name string, decoded float64) error {
	decoded += float64(r.decoded)
	limit := decodedLimit(r.uploaded)
	if decoded <= float64(limit) {
		return nil
	}
	return refuse("%s decodes to too much: %.1f GiB of values from %d bytes, where at most %.1f GiB are read",
		name, decoded/(1<<30), r.uploaded, float64(limit)/(1<<30))
}

// checkFooter refuses a Parquet file whose footer says that it decodes to too
// much, before any of it is read. It gives the rows.
func (r *run) checkFooter(ctx context.Context, path, name string) (rows int64, err error) {
	var counted, values, bytes float64
	err = r.db.QueryRowContext(ctx, fmt.Sprintf(`
SELECT CAST(coalesce(sum(rows), 0) AS DOUBLE), CAST(coalesce(sum("values"), 0) AS DOUBLE), CAST(coalesce(sum(bytes), 0) AS DOUBLE)
FROM (
	SELECT row_group_id, max(row_group_num_rows) AS rows, sum(greatest(num_values, row_group_num_rows, 0)) AS "values",
		sum(greatest(total_uncompressed_size, 0)) AS bytes
	FROM parquet_metadata(%s)
	GROUP BY row_group_id
)`, sqltext.Text(path))).Scan(&counted, &values, &bytes)
	if err == nil {
		rows, err = fileRows(ctx, r.db, path)
	}
	if err != nil || float64(rows) != counted {
		return 0, r.badParquet(ctx, name, err)
	}
	return rows, r.checkDecoded(name, max(values*valueBytes, bytes))
}

// measureValues gives the bytes that the values of a Parquet file take. The
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
