package ingest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"parley/internal/domain"
	"parley/internal/sqltext"
	"parley/storage/datasets/ingest/source"
)

// checkParquet reads all values of a Parquet file, and maps the types of its
// columns to ours.
func (r *run) checkParquet(ctx context.Context, in source.Input) (*table, error) {
	path, name := in.Path, in.Name
	t := &table{name: name}
	r.files.Encoding = ""
	if err := t.measure(path); err != nil {
		return nil, err
	}
	size := t.decoded
	from := fmt.Sprintf("read_parquet(%s, hive_partitioning = false)", sqltext.Text(path))
	raw, err := describeColumns(ctx, r.db, from)
	if err != nil {
		return nil, r.badParquet(ctx, name, err)
	}
	if t.rows, t.groupRows, err = r.checkFooter(ctx, path, name); err != nil {
		return nil, err
	}
	if len(raw) > domain.MaxColumns {
		return nil, refuse("%s has more than %d columns", name, domain.MaxColumns)
	}
	fields := make([]string, len(raw))
	for i, c := range raw {
		fields[i] = c.Name
	}
	names, warnings, err := columnNames(name, fields)
	if err != nil {
		return nil, err
	}
	t.report.Warnings = warnings
	casts := make([]string, len(raw))
	for i, c := range raw {
		if nesting(c.Type) > maxNesting {
			return nil, refuse("%s, column %s: its values are nested more than %d deep", name, quote(c.Name), maxNesting)
		}
		typ, cast, ok := parquetType(c.Type, sqltext.Name(c.Name))
		if !ok {
			return nil, refuse("%s, column %s: values of type %s cannot be kept", name, quote(c.Name), c.Type)
		}
		if domain.FoldColumn(c.Name) == "file_row_number" {
			t.groupRows = 0 // DuckDB's column of this name would be another one
		}
		t.columns = append(t.columns, domain.Column{Name: names[i], Type: typ})
		casts[i] = cast
	}
	decoded, err := r.measureValues(ctx, t, from, casts)
	if err != nil {
		return nil, err
	}
	if err := r.checkDecoded(name, decoded); err != nil {
		return nil, err
	}
	t.decoded = int64(decoded)
	if err := r.readValues(ctx, t, from, casts); err != nil {
		return nil, err
	}
	t.read = func(want []string, _ bool) (string, []string) {
		exprs := make([]string, len(want))
		for i := range want {
			exprs[i] = convert(casts[i], t.columns[i].Type, want[i])
			if t.columns[i].Type == typeNull {
				exprs[i] = fmt.Sprintf("CAST(NULL AS %s)", physical(want[i]))
			}
		}
		if t.groupRows > 0 {
			return fmt.Sprintf("read_parquet(%s, hive_partitioning = false, file_row_number = true)", sqltext.Text(path)), exprs
		}
		return from, exprs
	}
	r.progress.checked(size, t.rows)
	return t, nil
}

// readValues reads every value once, so that a damaged file is refused before
// anything is written, and finds columns without a value.
func (r *run) readValues(ctx context.Context, t *table, from string, casts []string) error {
	// A count may not decode the values; a hash does.
	counts := make([]string, len(casts))
	for i, cast := range casts {
		counts[i] = fmt.Sprintf("if(bit_xor(hash(%s)) IS NULL, 0, count(%s))", cast, cast)
	}
	values := make([]int64, len(casts))
	targets := make([]any, len(casts))
	for i := range values {
		targets[i] = &values[i]
	}
	if err := r.db.QueryRowContext(ctx, "SELECT "+strings.Join(counts, ", ")+" FROM "+from).Scan(targets...); err != nil {
		return r.badParquet(ctx, t.name, err)
	}
	for i, n := range values {
		if n == 0 {
			t.columns[i].Type = typeNull
		}
		t.report.Columns = append(t.report.Columns, domain.ColumnReport{Name: t.columns[i].Name, Type: t.columns[i].Type, Missing: t.rows - n})
	}
	return nil
}

// badParquet refuses a file that DuckDB cannot read, unless it lacked memory.
func (r *run) badParquet(ctx context.Context, name string, cause error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if cause != nil && strings.Contains(cause.Error(), "Out of Memory Error") {
		return fmt.Errorf("read Parquet: %w", cause)
	}
	return refuse("%s is damaged, or not a Parquet file that can be read", name)
}

// maxNesting is how deep the types of columns in Parquet may be nested: with each level DuckDB takes
// twice as long to read a file.
const maxNesting = 12

// nesting returns how deep a type is nested. It reads from the end: there are the brackets of a
// list, and the parentheses of a struct end.
func nesting(typ string) int {
	depth, most := 0, 0
	var outer []int // the depth of the fields of each struct
	quote := byte(0)
	for i := len(typ) - 1; i >= 0; i-- {
		c := typ[i]
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == ']':
			depth++
		case c == ')':
			depth++
			outer = append(outer, depth)
		case c == ',' && len(outer) > 0:
			depth = outer[len(outer)-1]
		case c == '(' && len(outer) > 0:
			depth = outer[len(outer)-1] - 1
			outer = outer[:len(outer)-1]
		}
		most = max(most, depth)
	}
	return most
}

// parquetType returns our type for one that DuckDB reads from Parquet, and the
// expression that converts to it.
func parquetType(typ, expr string) (to, cast string, ok bool) {
	switch typ {
	case typeBoolean, typeBigint, typeDouble, typeVarchar, typeDate, typeTime, typeTimestamp, typeTimestampNS, typeInstant, typeBlob:
		return typ, expr, true
	case typeJSON:
		return typ, fmt.Sprintf("CAST(%s AS VARCHAR)", expr), true
	case "TINYINT", "SMALLINT", "INTEGER", "UTINYINT", "USMALLINT", "UINTEGER":
		to = typeBigint
	case "UBIGINT":
		to = "DECIMAL(20,0)"
	case "FLOAT":
		to = typeDouble
	case "TIMESTAMP_S", "TIMESTAMP_MS":
		to = typeTimestamp
	case "UUID", "INTERVAL", "TIME WITH TIME ZONE", "TIME_NS":
		to = typeVarchar
	default:
		if isNumber(typ) || isNested(typ) {
			return typ, expr, true
		}
		if !strings.HasPrefix(typ, "ENUM(") {
			return "", "", false
		}
		to = typeVarchar
	}
	return to, fmt.Sprintf("CAST(%s AS %s)", expr, to), true
}

// describeColumns returns the columns of a FROM clause.
func describeColumns(ctx context.Context, db *sql.DB, from string) ([]domain.Column, error) {
	rows, err := db.QueryContext(ctx, "SELECT column_name, column_type FROM (DESCRIBE SELECT * FROM "+from+")")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var columns []domain.Column
	for rows.Next() {
		var c domain.Column
		if err := rows.Scan(&c.Name, &c.Type); err != nil {
			return nil, err
		}
		columns = append(columns, c)
	}
	return columns, rows.Err()
}
