package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/internal/domain"
)

// The frames between the server and a query worker. A worker sends a handshake,
// then answers each request, in order, with one reply, or with several for a stream.

// Op is what a query worker is asked to do.
type Op string

// The operations: open DuckDB, once and first; parse a statement; run one.
const (
	OpOpen  Op = "open"
	OpParse Op = "parse"
	OpRun   Op = "run"
)

// Table is a dataset as a query may see it.
type Table struct {
	// Name is the dataset's; queries find it without regard to case.
	Name string
	// Columns are in order, with DuckDB's names of their types.
	Columns []domain.Column
	// Files are absolute paths of Parquet files, none for an empty dataset. Workers of a
	// root server have another user: the files, not their folders, must be readable by all.
	Files []string
	// Filter is an SQL condition that leaves out other rows, before a query sees any; "" for none.
	Filter string
	// Where is an SQL condition that rows fulfill, for less to read; "" for none. Unlike Filter, it
	// protects nothing.
	Where string
	// ID is the dataset's, and Version changes when its files do.
	ID, Version string
	// RowCount decides whether the rows are held in memory; it need not be exact.
	RowCount int64
}

// handshake is a worker's first message.
type handshake struct {
	// Race is set with the race detector, which needs terabytes of address space.
	Race bool `json:"race,omitempty"`
}

// Request is a request to a query worker.
type Request struct {
	Op   Op           `json:"op"`
	Open *OpenRequest `json:"open,omitempty"`
	SQL  string       `json:"sql,omitempty"`
	// Drop names tables to drop before the query, Tables are those to create, or whose
	// files the query reads.
	Drop    []string `json:"drop,omitempty"`
	Tables  []Table  `json:"tables,omitempty"`
	MaxRows int      `json:"maxRows,omitempty"`
	// MaxBytes bounds the rows, or the tree of a statement that is parsed.
	MaxBytes int64 `json:"maxBytes,omitempty"`
	// CPU is the processor time that the query may take.
	CPU time.Duration `json:"cpu,omitempty"`
	// Stream asks for all rows, in as many replies as they need: MaxRows and MaxBytes bound
	// each.
	Stream bool `json:"stream,omitempty"`
}

// OpenRequest says what the worker may use.
type OpenRequest struct {
	// Dir is the folder that has the files of a query's tables while it runs.
	Dir     string `json:"dir"`
	Memory  int64  `json:"memory"`
	Threads int    `json:"threads"`
	// Limits are set before DuckDB opens; nil is for none.
	Limits *Limits `json:"limits,omitempty"`
	// Exposed keeps DuckDB's default settings and allows any statement, for tests of the
	// other isolation layers.
	Exposed bool `json:"exposed,omitempty"`
}

// Limits are limits of the kernel.
type Limits struct {
	// AddressSpace is in bytes; 0 leaves it open.
	AddressSpace uint64 `json:"addressSpace,omitempty"`
}

// Fault is an error of a request, with DuckDB's message.
type Fault struct {
	Kind    FaultKind `json:"kind"`
	Message string    `json:"message"`
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	// FaultQuery is an error before the query ran; the worker can be reused.
	FaultQuery FaultKind = "query"
	// FaultRun is an error while the query ran.
	FaultRun FaultKind = "run"
	// FaultMemory is a query that needs more memory than allowed.
	FaultMemory FaultKind = "memory"
	// FaultTables is a failure to open files of datasets.
	FaultTables FaultKind = "tables"
)

func (f *Fault) Error() string { return string(f.Kind) + ": " + f.Message }

// Is makes FaultQuery an ErrInvalid.
func (f *Fault) Is(target error) bool { return target == domain.ErrInvalid && f.Kind == FaultQuery }

// ReplyHead comes first in a reply; the rows follow it.
type ReplyHead struct {
	Fault     *Fault          `json:"fault,omitempty"`
	Tree      string          `json:"tree,omitempty"`
	Columns   []domain.Column `json:"columns,omitempty"`
	Truncated bool            `json:"truncated,omitempty"`
	// Total counts the rows of a truncated result; 0 if that took too long.
	Total int64 `json:"total,omitempty"`
	// InMemory names tables of the request whose rows the worker has in memory.
	InMemory []string `json:"inMemory,omitempty"`
	Rows     int      `json:"rows,omitempty"`
	// More says that another reply of a stream follows.
	More bool `json:"more,omitempty"`
}

// maxHead bounds the part of a reply before the rows; the largest has a tree.
const maxHead = 17 << 20

// ErrBadReply is a reply that breaks the protocol.
var ErrBadReply = errors.New("worker sent an invalid reply")

// EncodeReply puts head and rows into one payload: each a length and its bytes.
func EncodeReply(head ReplyHead, rows [][]byte) ([]byte, error) {
	head.Rows = len(rows)
	h, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	size := 4 + len(h)
	for _, row := range rows {
		size += 4 + len(row)
	}
	buf := make([]byte, 0, size)
	buf = binary.BigEndian.AppendUint32(buf, uint32(len(h)))
	buf = append(buf, h...)
	for _, row := range rows {
		buf = binary.BigEndian.AppendUint32(buf, uint32(len(row)))
		buf = append(buf, row...)
	}
	return buf, nil
}

// decodeReply decodes and checks a payload: every row must be a JSON object, and there
// are at most maxRows.
func decodeReply(payload []byte, maxRows int) (ReplyHead, []json.RawMessage, error) {
	var head ReplyHead
	h, rest, ok := cutField(payload)
	if !ok {
		return head, nil, fmt.Errorf("%w: no head", ErrBadReply)
	}
	if err := json.Unmarshal(h, &head); err != nil {
		return head, nil, fmt.Errorf("%w: %w", ErrBadReply, err)
	}
	if head.Rows < 0 || head.Rows > maxRows {
		return head, nil, fmt.Errorf("%w: %d rows, at most %d", ErrBadReply, head.Rows, maxRows)
	}
	rows := make([]json.RawMessage, 0, min(head.Rows, len(rest)/4))
	for len(rest) > 0 {
		var row []byte
		if row, rest, ok = cutField(rest); !ok {
			return head, nil, fmt.Errorf("%w: half a row", ErrBadReply)
		}
		if len(row) == 0 || row[0] != '{' || !json.Valid(row) {
			return head, nil, fmt.Errorf("%w: a row is no JSON object", ErrBadReply)
		}
		rows = append(rows, row)
	}
	if len(rows) != head.Rows {
		return head, nil, fmt.Errorf("%w: %d rows of %d", ErrBadReply, len(rows), head.Rows)
	}
	return head, rows, nil
}

func cutField(b []byte) (field, rest []byte, ok bool) {
	if len(b) < 4 {
		return nil, nil, false
	}
	n := int(binary.BigEndian.Uint32(b))
	if n > len(b)-4 {
		return nil, nil, false
	}
	return b[4 : 4+n : 4+n], b[4+n:], true
}
