package source

import (
	"bufio"
	"bytes"
	"context"
	"database/sql"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"parley/internal/domain"
	"parley/internal/sqltext"
)

// openSQLite returns the tables of an SQLite file. Nothing of it is run: no views, no
// virtual tables, no generated columns.
func (r *Reader) openSQLite(ctx context.Context, in Input) (*Container, error) {
	// Immutable files are neither locked nor looked for a journal.
	address := url.URL{Scheme: "file", OmitHost: true, Path: in.Path, RawQuery: "mode=ro&immutable=1" +
		"&_pragma=trusted_schema(0)&_pragma=query_only(1)&_pragma=cell_size_check(1)&_pragma=mmap_size(0)&_pragma=temp_store(2)&_pragma=cache_size(-8192)"}
	db, err := sql.Open("sqlite", address.String())
	if err != nil {
		return nil, fmt.Errorf("open SQLite: %w", err)
	}
	c := &Container{release: func() { db.Close() }}
	conn, err := db.Conn(ctx)
	if err == nil {
		_, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, MaxValue)
		c.release = func() { conn.Close(); db.Close() }
	}
	var names []string
	if err == nil {
		names, err = listTables(ctx, conn)
	}
	if err != nil {
		c.Close()
		return nil, r.badSQLite(ctx, in.Name, err)
	}
	for _, name := range names {
		shown := partName(in.Name, name)
		err := c.add(in.Name, Part{Name: name, Format: JSONLines, In: Input{Name: shown},
			write: func(ctx context.Context, out io.Writer) error {
				return r.badSQLite(ctx, shown, writeRows(ctx, conn, name, out))
			}})
		if err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// badSQLite takes errors of SQLite for a damaged file.
func (r *Reader) badSQLite(ctx context.Context, name string, err error) error {
	var failed *sqlite.Error
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &failed) && failed.Code() == sqlite3.SQLITE_TOOBIG:
		return refuse("%s: a value is longer than %d bytes", name, MaxValue)
	case errors.As(err, &failed) && failed.Code() == sqlite3.SQLITE_NOMEM:
		return refuse("%s takes more memory than it may use; try it in smaller files", name)
	case errors.As(err, &failed):
		return refuseDamaged(name)
	}
	return err
}

// listTables lists the tables that have rows, up to one more than a container may have.
func listTables(ctx context.Context, conn *sql.Conn) ([]string, error) {
	rows, err := conn.QueryContext(ctx, `
SELECT name
FROM pragma_table_list
WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\_%' ESCAPE '\'
ORDER BY name`)
	if err != nil {
		return nil, err
	}
	names, err := readNames(rows)
	if err != nil {
		return nil, err
	}
	var filled []string
	for _, name := range names {
		if len(filled) > maxParts {
			break
		}
		var one int
		err := conn.QueryRowContext(ctx, "SELECT 1 FROM "+sqltext.Name(name)+" NOT INDEXED LIMIT 1").Scan(&one)
		switch {
		case err == nil:
			filled = append(filled, name)
		case !errors.Is(err, sql.ErrNoRows):
			return nil, err
		}
	}
	return filled, nil
}

func readNames(rows *sql.Rows) (names []string, err error) {
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, rows.Err()
}

// writeRows writes the rows of a table as JSON, an object a line.
func writeRows(ctx context.Context, conn *sql.Conn, table string, to io.Writer) error {
	rows, err := conn.QueryContext(ctx, "SELECT name FROM pragma_table_xinfo("+sqltext.Text(table)+") WHERE hidden = 0")
	if err != nil {
		return err
	}
	columns, err := readNames(rows)
	if err != nil {
		return err
	}
	if len(columns) > domain.MaxColumns {
		return refuse("the table %s has more than %d columns", strconv.Quote(table), domain.MaxColumns)
	}
	exprs, keys := make([]string, len(columns)), make([][]byte, len(columns))
	for i, column := range columns {
		// The driver would make times of what a column of dates holds.
		exprs[i] = "+" + sqltext.Name(column)
		if keys[i], err = json.Marshal(column); err != nil {
			return fmt.Errorf("encode column name: %w", err)
		}
	}
	rows, err = conn.QueryContext(ctx, "SELECT "+strings.Join(exprs, ", ")+" FROM "+sqltext.Name(table)+" NOT INDEXED")
	if err != nil {
		return err
	}
	defer rows.Close()
	out := bufio.NewWriterSize(to, 64<<10)
	values, targets := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		targets[i] = &values[i]
	}
	var line bytes.Buffer
	for number := 1; rows.Next(); number++ {
		if err := rows.Scan(targets...); err != nil {
			return err
		}
		line.Reset()
		for i, value := range values {
			line.WriteByte("{,"[min(i, 1)])
			line.Write(keys[i])
			line.WriteByte(':')
			if text, ok := value.(string); ok && !utf8.ValidString(text) {
				return refuse("the table %s, row %d, column %s: the text is not UTF-8; convert it and send the file again",
					strconv.Quote(table), number, strconv.Quote(Excerpt(columns[i])))
			}
			if err := appendSQLite(&line, value); err != nil {
				return err
			}
		}
		line.WriteString("}\n")
		if _, err := out.Write(line.Bytes()); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return err
	}
	return out.Flush()
}

// appendSQLite writes a value as JSON: binary data in base64.
func appendSQLite(line *bytes.Buffer, value any) error {
	switch v := value.(type) {
	case int64:
		line.WriteString(strconv.FormatInt(v, 10))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			line.WriteString("null")
			return nil
		}
		digits := strconv.FormatFloat(v, 'g', -1, 64)
		if line.WriteString(digits); !strings.ContainsAny(digits, ".e") {
			line.WriteString(".0")
		}
	case nil:
		line.WriteString("null")
	case []byte:
		line.WriteString(`"` + base64.StdEncoding.EncodeToString(v) + `"`)
	case string:
		text, err := json.Marshal(strings.ReplaceAll(v, "\x00", ""))
		if err != nil {
			return fmt.Errorf("encode value: %w", err)
		}
		line.Write(text)
	default:
		return fmt.Errorf("encode value: the type %T is unknown", value)
	}
	return nil
}
