package ingest

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"parley/internal/domain"
	"parley/internal/fsync"
	"parley/internal/sqltext"
)

// Limits of a row group: the writer holds some of them in memory, each of them a few times.
const (
	groupRows  = 122_880
	groupBytes = 32 << 20
)

// groupOf returns how many rows of a table with this size make a row group.
func groupOf(rows, bytes int64) int64 {
	return max(1, min(groupRows, groupBytes/(bytes/max(rows, 1)+1)))
}

// groupOfFiles is groupOf for the rows of Parquet files.
func groupOfFiles(ctx context.Context, db *sql.DB, files []string) (int64, error) {
	var rows, bytes int64
	err := db.QueryRowContext(ctx, `
SELECT CAST(coalesce(sum(num_values) FILTER (column_id = 0), 0) AS BIGINT), CAST(coalesce(sum(total_uncompressed_size), 0) AS BIGINT)
FROM parquet_metadata(`+listOf(files)+")").Scan(&rows, &bytes)
	return groupOf(rows, bytes), err
}

// Query returns the SQL that reads files of Run or Compact, in their order, as the
// rows of a dataset with these columns, by the contract in the package's
// description.
func Query(files []string, columns []domain.Column) string {
	exprs := make([]string, len(columns))
	for i, c := range columns {
		switch name := sqltext.Name(c.Name); c.Type {
		case typeNull:
			exprs[i] = "CAST(NULL AS VARCHAR) AS " + name
		default:
			exprs[i] = fmt.Sprintf("CAST(%s AS %s) AS %s", name, c.Type, name)
		}
	}
	return selectFiles(exprs, files)
}

func selectFiles(exprs, files []string) string {
	return fmt.Sprintf("SELECT %s FROM read_parquet(%s, union_by_name = true, hive_partitioning = false)", strings.Join(exprs, ", "), listOf(files))
}

func listOf(files []string) string {
	paths := make([]string, len(files))
	for i, path := range files {
		paths[i] = sqltext.Text(path)
	}
	return "[" + strings.Join(paths, ", ") + "]"
}

// fromFiles returns the SQL that follows the expressions of a query over files.
func fromFiles(paths []string) string {
	return strings.TrimPrefix(selectFiles([]string{""}, paths), "SELECT ")
}

// Compact writes the rows of files, in their order, into one file in outDir,
// named compact.parquet. Columns are the dataset's. When it fails it leaves
// nothing.
func Compact(ctx context.Context, db *sql.DB, files []string, columns []domain.Column, outDir string) (File, error) {
	work, err := os.MkdirTemp(outDir, ".ingest-*")
	if err != nil {
		return File{}, fmt.Errorf("create work folder: %w", err)
	}
	defer os.RemoveAll(work)
	var exprs []string
	for _, c := range columns {
		if name := sqltext.Name(c.Name); c.Type != typeNull {
			exprs = append(exprs, fmt.Sprintf("CAST(%s AS %s) AS %s", name, physical(c.Type), name))
		}
	}
	if len(exprs) == 0 {
		exprs = []string{"CAST(NULL AS VARCHAR) AS " + sqltext.Name(columns[0].Name)}
	}
	group, err := groupOfFiles(ctx, db, files)
	if err != nil {
		return File{}, fmt.Errorf("compact: %w", err)
	}
	path := filepath.Join(work, "compact.parquet")
	if err := copyTo(ctx, db, selectFiles(exprs, files), path, group); err != nil {
		return File{}, fmt.Errorf("compact: %w", err)
	}
	file, err := seal(ctx, db, path)
	if err != nil {
		return File{}, err
	}
	published, err := publish([]File{file}, outDir)
	if err != nil {
		return File{}, err
	}
	return published[0], nil
}

// Export writes the rows of files that an SQL condition lets through, in their order, into one
// file in outDir, and returns its path. Columns are the dataset's.
func Export(ctx context.Context, db *sql.DB, files []string, columns []domain.Column, filter string, as domain.Download, outDir string) (string, error) {
	// Every reader of Parquet understands the defaults: version 1, compressed by Snappy.
	group, err := groupOfFiles(ctx, db, files)
	if err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	rows := Query(files, columns)
	if filter != "" {
		rows = "SELECT * FROM (" + rows + ") WHERE " + filter
	}
	query, options := rows, fmt.Sprintf("FORMAT parquet, ROW_GROUP_SIZE %d", group)
	if as.Format == domain.DownloadCSV {
		query, options = csvRows(query, columns, as.EscapeFormulas), "FORMAT csv, HEADER"
	}
	path := filepath.Join(outDir, "export."+string(as.Format))
	if _, err := db.ExecContext(ctx, fmt.Sprintf("COPY (%s) TO %s (%s)", query, sqltext.Text(path), options)); err != nil {
		return "", fmt.Errorf("export: %w", err)
	}
	return path, nil
}

// A spreadsheet runs a text that begins with one of these signs, also after blanks, unless it
// is a number.
const (
	formulaText = `^[\t\r\n]|^[\s\pZ\x{FEFF}]*[=+\-@＝＋－＠]`
	numberText  = `^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`
)

var isFormula = regexp.MustCompile(formulaText).MatchString

// csvRows returns the SQL for the rows of a query as CSV has them: nested values are JSON,
// binary ones base64.
func csvRows(query string, columns []domain.Column, escapeFormulas bool) string {
	exprs := make([]string, len(columns))
	for i, c := range columns {
		expr, header := sqltext.Name(c.Name), c.Name
		text := c.Type == typeVarchar || c.Type == typeJSON
		switch {
		case isNested(c.Type):
			expr = fmt.Sprintf("CAST(to_json(%s) AS VARCHAR)", expr)
		case c.Type == typeBlob:
			expr, text = fmt.Sprintf("base64(%s)", expr), true
		}
		if escapeFormulas && text {
			expr = fmt.Sprintf("CASE WHEN regexp_matches(%[1]s, %[2]s) AND NOT regexp_matches(%[1]s, %[3]s) THEN %[4]s || %[1]s ELSE %[1]s END",
				"CAST("+expr+" AS VARCHAR)", sqltext.Text(formulaText), sqltext.Text(numberText), sqltext.Text("'"))
		}
		if escapeFormulas && isFormula(header) {
			header = "'" + header
		}
		exprs[i] = expr + " AS " + sqltext.Name(header)
	}
	return fmt.Sprintf("SELECT %s FROM (%s)", strings.Join(exprs, ", "), query)
}

// write writes the tables to Parquet files.
func (r *run) write(ctx context.Context, tables []*table, columns []domain.Column) ([]File, error) {
	path := filepath.Join(r.files.Dir, "rows.parquet")
	var want, bytes int64
	for _, t := range tables {
		want += t.rows
		bytes += t.decoded
	}
	group := groupOf(want, bytes)
	// DuckDB should read what the check accepts. Where its parallel reader does
	// not, or counts other rows, the sequential one decides.
	err := r.writeOnce(ctx, selectTables(tables, columns, group, false), path, group, want)
	if err != nil && ctx.Err() == nil {
		err = r.writeOnce(ctx, selectTables(tables, columns, group, true), path, group, want)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("write Parquet: %w", err)
	}
	return r.split(ctx, path, want, group)
}

func (r *run) writeOnce(ctx context.Context, query, path string, group, want int64) error {
	if err := copyTo(ctx, r.db, query, path, group); err != nil {
		return err
	}
	rows, err := fileRows(ctx, r.db, path)
	if err == nil && rows != want {
		err = fmt.Errorf("%d rows were checked and %d written", want, rows)
	}
	return err
}

// split cuts a file into files of limited size. DuckDB has an option for it that
// does not preserve the order of rows; and few sources are so large.
func (r *run) split(ctx context.Context, path string, rows, group int64) ([]File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("stat Parquet file: %w", err)
	}
	parts := (info.Size() + r.job.MaxFileBytes - 1) / r.job.MaxFileBytes
	// Whole row groups, so that a part is read without its neighbours.
	each := max(1, (rows/parts+group-1)/group) * group
	var files []File
	for first := int64(0); first < rows; first += each {
		part := filepath.Join(r.files.Dir, fmt.Sprintf("part-%04d.parquet", len(files)+1))
		if each >= rows {
			err = os.Rename(path, part)
		} else {
			err = copyTo(ctx, r.db, fmt.Sprintf("SELECT * EXCLUDE (file_row_number) FROM read_parquet(%s, hive_partitioning = false, file_row_number = true) "+
				"WHERE file_row_number >= %d AND file_row_number < %d", sqltext.Text(path), first, first+each), part, group)
		}
		if err != nil {
			return nil, fmt.Errorf("split Parquet file: %w", err)
		}
		file, err := seal(ctx, r.db, part)
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	if written := sumRows(files); written != rows {
		return nil, fmt.Errorf("split Parquet file: %d rows became %d", rows, written)
	}
	return files, nil
}

// selectTables returns the SQL for the rows of all tables, in order.
func selectTables(tables []*table, columns []domain.Column, group int64, sequential bool) string {
	var selects []string
	for _, t := range tables {
		want := make([]string, len(t.columns))
		own := map[string]int{}
		for j, c := range t.columns {
			own[domain.FoldColumn(c.Name)] = j
		}
		for _, c := range columns {
			if j, ok := own[domain.FoldColumn(c.Name)]; ok {
				want[j] = c.Type
			}
		}
		from, exprs := t.read(want, sequential)
		var list []string
		for k, c := range columns {
			j, ok := own[domain.FoldColumn(c.Name)]
			switch {
			case c.Type == typeNull && (k > 0 || hasValues(columns)):
			case ok:
				list = append(list, exprs[j]+" AS "+sqltext.Name(c.Name))
			default:
				list = append(list, fmt.Sprintf("CAST(NULL AS %s) AS %s", physical(c.Type), sqltext.Name(c.Name)))
			}
		}
		query := "SELECT " + strings.Join(list, ", ") + " FROM " + from
		if !t.sliced(group) {
			selects = append(selects, query)
			continue
		}
		for first := int64(0); first < t.rows; first += group {
			selects = append(selects, fmt.Sprintf("%s WHERE file_row_number >= %d AND file_row_number < %d", query, first, first+group))
		}
	}
	return strings.Join(selects, " UNION ALL ")
}

// vectorRows is how many rows DuckDB reads and writes at once, at least.
const vectorRows = 2048

// sliced reports whether a Parquet file is read a row group of the result at a time, since the
// rows that DuckDB reads at once would take too much memory to be written at once. That reads a
// group of the source some times, so those must not be large.
func (t *table) sliced(group int64) bool {
	return group < vectorRows && t.rows > group && 0 < t.groupRows && t.groupRows <= 4*vectorRows
}

// hasValues reports whether some column has values. A Parquet file has at least
// one column: the first, where none has values.
func hasValues(columns []domain.Column) bool {
	return slices.ContainsFunc(columns, func(c domain.Column) bool { return c.Type != typeNull })
}

// copyTo writes a query's rows to a file. Level 1 of zstd with the encodings of
// Parquet's version 2 is both faster and smaller than the default level with
// those of version 1.
func copyTo(ctx context.Context, db *sql.DB, query, path string, group int64) error {
	_, err := db.ExecContext(ctx, fmt.Sprintf("COPY (%s) TO %s (FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 1, ROW_GROUP_SIZE %d)",
		query, sqltext.Text(path), group))
	return err
}

// seal syncs a file to the disk, counts its rows and hashes it.
func seal(ctx context.Context, db *sql.DB, path string) (File, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return File{}, fmt.Errorf("open Parquet file: %w", err)
	}
	defer f.Close()
	// Syncing and hashing take about as long as each other.
	synced := make(chan error, 1)
	go func() { synced <- f.Sync() }()
	hash := sha256.New()
	size, err := io.Copy(hash, io.NewSectionReader(f, 0, math.MaxInt64))
	if syncErr := <-synced; syncErr != nil {
		return File{}, fmt.Errorf("sync Parquet file: %w", syncErr)
	}
	if err != nil {
		return File{}, fmt.Errorf("read Parquet file: %w", err)
	}
	rows, err := fileRows(ctx, db, path)
	if err != nil {
		return File{}, fmt.Errorf("read Parquet file: %w", err)
	}
	return File{Path: path, Rows: rows, Bytes: size, SHA256: hex.EncodeToString(hash.Sum(nil))}, nil
}

func fileRows(ctx context.Context, db *sql.DB, path string) (rows int64, err error) {
	err = db.QueryRowContext(ctx, "SELECT CAST(num_rows AS BIGINT) FROM parquet_file_metadata("+sqltext.Text(path)+")").Scan(&rows)
	return rows, err
}

// publish moves finished files from the work folder to the output folder: all of
// them, or none.
func publish(files []File, outDir string) (published []File, err error) {
	defer func() {
		if err != nil {
			for _, f := range published {
				os.Remove(f.Path)
			}
		}
	}()
	for _, f := range files {
		target := filepath.Join(outDir, filepath.Base(f.Path))
		// A link, unlike a rename, never replaces a file.
		if err := os.Link(f.Path, target); err != nil {
			return published, fmt.Errorf("publish Parquet file: %w", err)
		}
		f.Path = target
		published = append(published, f)
	}
	if err := fsync.Dir(outDir); err != nil {
		return published, fmt.Errorf("sync output folder: %w", err)
	}
	return published, nil
}
