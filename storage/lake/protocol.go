package lake

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"parley/storage"
)

// The frames between the server and a worker. A worker says hello, then answers
// each request with one reply, in order.

type op string

const (
	opOpen  op = "open"
	opParse op = "parse"
	opRun   op = "run"
)

// hello is what a worker says of itself before DuckDB opens in it.
type hello struct {
	// Race is set in a build with the race detector, which needs terabytes of
	// address space.
	Race bool `json:"race,omitempty"`
}

// request is one thing asked of a worker.
type request struct {
	Op       op           `json:"op"`
	Open     *openRequest `json:"open,omitempty"`
	SQL      string       `json:"sql,omitempty"`
	Use      []string     `json:"use,omitempty"`
	MaxRows  int          `json:"maxRows,omitempty"`
	MaxBytes int64        `json:"maxBytes,omitempty"`
	// CPU is the processor time that the query may take.
	CPU time.Duration `json:"cpu,omitempty"`
}

// openRequest says which tables the worker is for and what it may use.
type openRequest struct {
	Tables  []Table `json:"tables"`
	Memory  int64   `json:"memory"`
	Threads int     `json:"threads"`
	// Limits are set before DuckDB opens; nil is for none.
	Limits *limits `json:"limits,omitempty"`
	// Exposed leaves DuckDB's own settings as they come and any statement
	// run. Tests of the other walls set it.
	Exposed bool `json:"exposed,omitempty"`
}

// limits are what the kernel holds a worker to.
type limits struct {
	// AddressSpace is in bytes; 0 leaves it open.
	AddressSpace uint64 `json:"addressSpace,omitempty"`
	Files        int    `json:"files"`
}

// fault says what went wrong with a request, in DuckDB's words.
type fault struct {
	Kind    faultKind `json:"kind"`
	Message string    `json:"message"`
}

type faultKind string

const (
	// faultQuery is an error found before anything ran; the worker is as good
	// as before.
	faultQuery faultKind = "query"
	// faultRun is an error while the query ran.
	faultRun faultKind = "run"
	// faultMemory is a query that needed more memory than there is.
	faultMemory faultKind = "memory"
	// faultTables is dataset files that could not be opened.
	faultTables faultKind = "tables"
)

func (f *fault) Error() string { return string(f.Kind) + ": " + f.Message }

// replyHead comes first in a reply; the rows follow it.
type replyHead struct {
	Fault     *fault           `json:"fault,omitempty"`
	Tree      string           `json:"tree,omitempty"`
	Columns   []storage.Column `json:"columns,omitempty"`
	Truncated bool             `json:"truncated,omitempty"`
	Rows      int              `json:"rows,omitempty"`
}

// maxHead bounds the part of a reply that is not rows: a tree at the most, as
// text in JSON.
const maxHead = 2*maxTree + 1<<20

var errBadReply = errors.New("worker sent a reply that cannot be")

// encodeReply puts head and rows into one payload: each a length and its bytes.
func encodeReply(head replyHead, rows [][]byte) ([]byte, error) {
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

// decodeReply takes a payload apart and believes none of it: every row must be
// a JSON object, and there must be as many as asked at the most.
func decodeReply(payload []byte, maxRows int) (replyHead, []json.RawMessage, error) {
	var head replyHead
	h, rest, ok := cutField(payload)
	if !ok {
		return head, nil, fmt.Errorf("%w: no head", errBadReply)
	}
	if err := json.Unmarshal(h, &head); err != nil {
		return head, nil, fmt.Errorf("%w: %w", errBadReply, err)
	}
	if head.Rows < 0 || head.Rows > maxRows {
		return head, nil, fmt.Errorf("%w: %d rows, at most %d", errBadReply, head.Rows, maxRows)
	}
	rows := make([]json.RawMessage, 0, min(head.Rows, len(rest)/4))
	for len(rest) > 0 {
		var row []byte
		if row, rest, ok = cutField(rest); !ok {
			return head, nil, fmt.Errorf("%w: half a row", errBadReply)
		}
		if len(row) == 0 || row[0] != '{' || !json.Valid(row) {
			return head, nil, fmt.Errorf("%w: a row is no JSON object", errBadReply)
		}
		rows = append(rows, row)
	}
	if len(rows) != head.Rows {
		return head, nil, fmt.Errorf("%w: %d rows of %d", errBadReply, len(rows), head.Rows)
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
