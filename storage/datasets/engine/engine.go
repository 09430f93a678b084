package engine

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	duck "github.com/duckdb/duckdb-go-bindings"

	"parley/internal/sqltext"
	"parley/storage/datasets/ingest"
	"parley/storage/datasets/sandbox"
)

// Small tables are copied into memory when they are first used, which makes point queries
// an order of magnitude faster.
const (
	MaxNativeRows  = 200_000
	maxNativeBytes = 32 << 20
)

// Engine is DuckDB in a worker, with tables and nothing else that a query can reach.
type Engine struct {
	db     duck.Database
	tables map[string]table
	// native is the size of the files of tables that are in memory.
	native  int64
	parser  duck.PreparedStatement
	exposed bool
}

// table is a table in DuckDB: native, with its rows in memory, or a view of files.
type table struct {
	name   string
	native bool
	size   int64
}

// Open opens DuckDB, which can read files in one folder.
func Open(open sandbox.OpenRequest) (*Engine, error) {
	e := &Engine{tables: map[string]table{}, exposed: open.Exposed}
	var config duck.Config
	if duck.CreateConfig(&config) == duck.StateError {
		return nil, errors.New("make DuckDB's configuration")
	}
	defer duck.DestroyConfig(&config)
	for name, value := range map[string]string{
		"autoinstall_known_extensions": "false",
		"autoload_known_extensions":    "false",
		"allow_community_extensions":   "false",
		"allow_unsigned_extensions":    "false",
		"allow_persistent_secrets":     "false",
		"memory_limit":                 strconv.FormatInt(open.Memory, 10) + "B",
		// More threads start when this one is restricted, and inherit that.
		"threads": "1",
		// Spilling to disk would need a folder that SQL can write to.
		"temp_directory": "",
	} {
		if duck.SetConfig(config, name, value) == duck.StateError {
			return nil, fmt.Errorf("set DuckDB's %s", name)
		}
	}
	var message string
	if duck.OpenExt(":memory:", &e.db, config, &message) == duck.StateError {
		return nil, fmt.Errorf("open DuckDB: %s", message)
	}
	if open.Limits != nil {
		if err := sandbox.ConfineThread(open.Dir); err != nil {
			return nil, fmt.Errorf("restrict the worker's thread: %w", err)
		}
	}
	err := e.with(func(conn duck.Connection) error {
		if err := registerFunctions(conn); err != nil {
			return err
		}
		readable := ""
		if open.Dir != "" {
			readable = sqltext.Text(open.Dir)
		}
		settings := []string{
			"SET GLOBAL TimeZone = 'UTC'",
			"SET GLOBAL threads = " + strconv.Itoa(max(open.Threads, 1)),
			"SET GLOBAL allowed_directories = [" + readable + "]",
			"SET GLOBAL enable_external_access = false",
			"SET GLOBAL lock_configuration = true",
		}
		if open.Exposed {
			settings = settings[:2]
		}
		for _, statement := range settings {
			if err := e.exec(conn, statement); err != nil {
				return fmt.Errorf("%s: %w", statement[:min(len(statement), 40)], err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return e, e.prepareParser()
}

// Close closes DuckDB, for tests: a worker's ends with its process.
func (e *Engine) Close() { duck.Close(&e.db) }

// Exec runs a statement, for tests.
func (e *Engine) Exec(statement string) error {
	return e.with(func(conn duck.Connection) error { return e.exec(conn, statement) })
}

// with runs f on a connection of its own, so that no variable, temporary table or seed of
// a query remains for the next.
func (e *Engine) with(f func(duck.Connection) error) error {
	var conn duck.Connection
	if duck.Connect(e.db, &conn) == duck.StateError {
		return errors.New("connect to DuckDB")
	}
	defer duck.Disconnect(&conn)
	return f(conn)
}

func (e *Engine) exec(conn duck.Connection, statement string) error {
	var res duck.Result
	defer duck.DestroyResult(&res)
	if duck.Query(conn, statement, &res) == duck.StateError {
		return newFault(duck.ResultError(&res), sandbox.FaultRun)
	}
	return nil
}

// prepare drops and creates tables, and returns those of the request that are in memory.
func (e *Engine) prepare(conn duck.Connection, req sandbox.Request) (inMemory []string, err error) {
	for _, name := range req.Drop {
		if err := e.drop(conn, strings.ToLower(name)); err != nil {
			return nil, &sandbox.Fault{Kind: sandbox.FaultTables, Message: fmt.Sprintf("drop table %q: %v", name, err)}
		}
	}
	for _, t := range req.Tables {
		key := strings.ToLower(t.Name)
		if _, known := e.tables[key]; !known {
			if err := e.create(conn, key, t); err != nil {
				return nil, &sandbox.Fault{Kind: sandbox.FaultTables, Message: fmt.Sprintf("open table %q: %v", t.Name, err)}
			}
			if err := e.filter(conn, key, t); err != nil {
				return nil, err
			}
		}
		if e.tables[key].native {
			inMemory = append(inMemory, t.Name)
		}
	}
	return inMemory, nil
}

func (e *Engine) drop(conn duck.Connection, key string) error {
	t, known := e.tables[key]
	if !known {
		return nil
	}
	delete(e.tables, key)
	if !t.native {
		return e.exec(conn, "DROP VIEW "+sqltext.Name(t.name))
	}
	e.native -= t.size
	return e.exec(conn, "DROP TABLE "+sqltext.Name(t.name))
}

func (e *Engine) create(conn duck.Connection, key string, t sandbox.Table) error {
	if len(t.Files) == 0 {
		columns := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			columns[i] = sqltext.Name(c.Name) + " " + c.Type
		}
		if err := e.exec(conn, "CREATE TABLE "+sqltext.Name(t.Name)+" ("+strings.Join(columns, ", ")+")"); err != nil {
			return err
		}
		e.tables[key] = table{name: t.Name, native: true}
		return nil
	}
	var size int64
	for _, file := range t.Files {
		info, err := os.Stat(file)
		if err != nil {
			// The size only decides between table and view; the read reports the error.
			size = maxNativeBytes + 1
			continue
		}
		size += info.Size()
	}
	as := sqltext.Name(t.Name) + " AS " + ingest.Query(t.Files, t.Columns)
	if t.Where != "" {
		as += " WHERE " + t.Where
	}
	if t.RowCount <= MaxNativeRows && e.native+size <= maxNativeBytes {
		if err := e.exec(conn, "CREATE TABLE "+as); err == nil {
			e.native += size
			e.tables[key] = table{t.Name, true, size}
			return nil
		}
	}
	if err := e.exec(conn, "CREATE VIEW "+as); err != nil {
		return err
	}
	e.tables[key] = table{name: t.Name}
	return nil
}

// filter leaves out the rows of a table that its filter does not let through. They are gone before
// the query is run: DuckDB could otherwise evaluate the query's own conditions first, and show
// values of hidden rows in errors.
func (e *Engine) filter(conn duck.Connection, key string, t sandbox.Table) error {
	if t.Filter == "" {
		return nil
	}
	const visible = `"visible rows"` // no dataset has a blank in its name
	made := e.tables[key]
	err := e.exec(conn, "CREATE TABLE "+visible+" AS SELECT * FROM "+sqltext.Name(t.Name)+" WHERE "+t.Filter)
	if err != nil {
		// The message can have a value of a hidden row.
		fault := &sandbox.Fault{Kind: sandbox.FaultTables, Message: fmt.Sprintf("leave out rows of table %q", t.Name)}
		switch known, _ := errors.AsType[*sandbox.Fault](err); {
		case known != nil && known.Kind == sandbox.FaultMemory:
			fault = &sandbox.Fault{Kind: sandbox.FaultMemory, Message: "out of memory"}
		case sandbox.IsBadRowRule(err):
			fault = &sandbox.Fault{Kind: sandbox.FaultQuery, Message: sandbox.BadRowRule(t.Name)}
		}
		return errors.Join(fault, e.drop(conn, key))
	}
	if err := e.drop(conn, key); err != nil {
		return &sandbox.Fault{Kind: sandbox.FaultTables, Message: fmt.Sprintf("drop table %q: %v", t.Name, err)}
	}
	if err := e.exec(conn, "ALTER TABLE "+visible+" RENAME TO "+sqltext.Name(t.Name)); err != nil {
		return &sandbox.Fault{Kind: sandbox.FaultTables, Message: fmt.Sprintf("rename table %q: %v", t.Name, err)}
	}
	e.native += made.size
	e.tables[key] = table{t.Name, true, made.size}
	return nil
}

// prepareParser prepares the statement that parses, on a connection of its own.
func (e *Engine) prepareParser() error {
	var conn duck.Connection
	if duck.Connect(e.db, &conn) == duck.StateError {
		return errors.New("connect to DuckDB")
	}
	if duck.Prepare(conn, "SELECT CAST(json_serialize_sql(CAST(? AS VARCHAR)) AS VARCHAR)", &e.parser) == duck.StateError {
		return newFault(duck.PrepareError(e.parser), sandbox.FaultRun)
	}
	return nil
}

// Parse returns a statement's syntax tree as JSON. It binds and runs nothing.
func (e *Engine) Parse(sql string) (string, error) {
	if duck.BindVarcharLength(e.parser, 1, sql, duck.IdxT(len(sql))) == duck.StateError {
		return "", errors.New("bind the statement's argument")
	}
	var res duck.Result
	defer duck.DestroyResult(&res)
	if duck.ExecutePrepared(e.parser, &res) == duck.StateError {
		return "", newFault(duck.ResultError(&res), sandbox.FaultQuery)
	}
	chunk := duck.FetchChunk(res)
	defer duck.DestroyDataChunk(&chunk)
	if chunk.Ptr == nil || duck.DataChunkGetSize(chunk) != 1 {
		return "", errors.New("no row in answer")
	}
	return strings.Clone(textAt(duck.VectorGetData(duck.DataChunkGetVector(chunk, 0)), 0)), nil
}

// Result is a result within its bounds.
type Result struct {
	Head sandbox.ReplyHead
	Rows [][]byte
	// size is that of the rows, in bytes.
	size int64
}

// Run runs a query and returns rows up to the bounds. Of a stream, more takes the rows that come
// before.
func (e *Engine) Run(req sandbox.Request, more func([][]byte) error) (Result, error) {
	var out Result
	began := time.Now()
	err := e.with(func(conn duck.Connection) error {
		inMemory, err := e.prepare(conn, req)
		if err != nil {
			return err
		}
		out.Head.InMemory = inMemory
		if err := e.exec(conn, "BEGIN TRANSACTION READ ONLY"); err != nil {
			return err
		}
		var stmt duck.PreparedStatement
		defer duck.DestroyPrepare(&stmt)
		if duck.Prepare(conn, req.SQL, &stmt) == duck.StateError {
			return newFault(duck.PrepareError(stmt), sandbox.FaultQuery)
		}
		if !e.exposed && duck.PreparedStatementType(stmt) != duck.StatementTypeSelect {
			return &sandbox.Fault{Kind: sandbox.FaultQuery, Message: "Parser Error: only SELECT is allowed"}
		}
		if err := out.execute(stmt, req, more); err != nil || !out.Head.Truncated {
			return err
		}
		limit := min(time.Second, req.CPU/countShare)
		if time.Since(began) < limit {
			out.Head.Total = count(conn, req.SQL, limit)
		}
		if out.Head.Total <= int64(len(out.Rows)) { // of a sample, each run has other rows
			out.Head.Total = 0
		}
		return nil
	})
	return out, err
}

func (out *Result) execute(stmt duck.PreparedStatement, req sandbox.Request, more func([][]byte) error) error {
	var res duck.Result
	defer duck.DestroyResult(&res)
	// A streamed result is computed as it is read, up to the bounds.
	if duck.ExecutePreparedStreaming(stmt, &res) == duck.StateError {
		return newFault(duck.ResultError(&res), sandbox.FaultRun)
	}
	return out.collect(&res, req, more)
}

// countShare is the part of the processor time of a query that the count of a truncated
// result may take at most, and the query before it.
const countShare = 16

// count returns how many rows a query has; 0 if that takes too long, or it is no subquery as
// it stands, for a comment follows its semicolon.
func count(conn duck.Connection, sql string, limit time.Duration) int64 {
	interrupted := make(chan struct{})
	timer := time.AfterFunc(limit, func() { duck.Interrupt(conn); close(interrupted) })
	defer func() {
		if !timer.Stop() {
			<-interrupted // the connection is closed next
		}
	}()
	var res duck.Result
	defer duck.DestroyResult(&res)
	if duck.Query(conn, "SELECT count(*) FROM ("+strings.TrimRight(sql, "; \t\r\n")+"\n)", &res) == duck.StateError {
		return 0
	}
	chunk := duck.FetchChunk(res)
	defer duck.DestroyDataChunk(&chunk)
	if chunk.Ptr == nil || duck.DataChunkGetSize(chunk) != 1 {
		return 0
	}
	return *(*int64)(duck.VectorGetData(duck.DataChunkGetVector(chunk, 0)))
}

func (out *Result) collect(res *duck.Result, req sandbox.Request, more func([][]byte) error) error {
	w, err := newRowWriter(res)
	if err != nil {
		return &sandbox.Fault{Kind: sandbox.FaultQuery, Message: "Binder Error: " + err.Error()}
	}
	out.Head.Columns = w.columns
	for {
		var chunk duck.DataChunk
		if duck.StreamFetchChunk(*res, &chunk) == duck.StateError {
			if message := duck.ResultError(res); message != "" {
				return newFault(message, sandbox.FaultRun)
			}
			return nil
		}
		count := uint64(duck.DataChunkGetSize(chunk))
		if count == 0 {
			duck.DestroyDataChunk(&chunk)
			return nil
		}
		w.bind(chunk)
		for row := range count {
			if err = out.add(w.append(nil, row), req, more); err != nil || out.Head.Truncated {
				break
			}
		}
		duck.DestroyDataChunk(&chunk)
		if out.Head.Truncated || err != nil {
			return err
		}
	}
}

// add adds a row. One beyond the bounds is left out; of a stream, the rows before it are sent.
func (out *Result) add(row []byte, req sandbox.Request, more func([][]byte) error) error {
	if len(out.Rows) == req.MaxRows || out.size+int64(len(row)) > req.MaxBytes {
		switch {
		case !req.Stream:
			out.Head.Truncated = true
			return nil
		case int64(len(row)) > req.MaxBytes:
			return &sandbox.Fault{Kind: sandbox.FaultRun, Message: fmt.Sprintf("a row has more than %d bytes", req.MaxBytes)}
		}
		if err := more(out.Rows); err != nil {
			return err
		}
		out.Rows, out.size = nil, 0
	}
	out.Rows, out.size = append(out.Rows, row), out.size+int64(len(row))
	return nil
}

// newFault derives the kind of a fault from DuckDB's message.
func newFault(message string, kind sandbox.FaultKind) *sandbox.Fault {
	switch {
	case strings.HasPrefix(message, "Out of Memory"), strings.Contains(message, "bad_alloc"),
		strings.Contains(message, "failed to allocate"), strings.Contains(message, "could not allocate"):
		kind = sandbox.FaultMemory
	case strings.HasPrefix(message, "Parser Error"), strings.HasPrefix(message, "Binder Error"), strings.HasPrefix(message, "Catalog Error"):
		kind = sandbox.FaultQuery
	}
	return &sandbox.Fault{Kind: kind, Message: message}
}
