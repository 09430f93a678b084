package sandbox

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sync/atomic"

	"parley/internal/domain"
)

// StartQuery starts a query worker and opens DuckDB in it. It sets the request's limits and
// folder.
func StartQuery(ctx context.Context, spec Spec, open OpenRequest) (*Process, error) {
	p, err := Start(spec)
	if err != nil {
		return nil, err
	}
	if err := p.open(ctx, spec, open); err != nil {
		p.Kill()
		if Gone(err) {
			// No query has caused this.
			return nil, fmt.Errorf("%w: a worker ended at its start: %v: %s", domain.ErrUnavailable, err, p.CrashReport())
		}
		return nil, err
	}
	return p, nil
}

// link links the files of tables into the worker's folder until unlink is called, and
// returns the tables with the names that the worker reads them by.
func (p *Process) link(tables []Table) (linked []Table, unlink func(), err error) {
	var links []string
	unlink = func() {
		for _, name := range links {
			_ = os.Remove(name)
		}
	}
	for _, t := range tables {
		names := make([]string, len(t.Files))
		for i, path := range t.Files {
			link := filepath.Join(p.tables, linkName(path))
			links = append(links, link)
			if err := linkFile(path, link); err != nil {
				unlink()
				return nil, nil, fmt.Errorf("open table %q: %w", t.Name, err)
			}
			names[i] = folderInWorker(p.tables) + "/" + linkName(path)
		}
		t.Files = names
		linked = append(linked, t)
	}
	return linked, unlink, nil
}

// linkName is a file's name in a worker's folder, the same each time.
func linkName(path string) string {
	sum := sha256.Sum256([]byte(path))
	return hex.EncodeToString(sum[:16]) + ".parquet"
}

// linkFile links a file, or copies it where links are not possible.
func linkFile(path, name string) (err error) {
	err = os.Link(path, name)
	switch {
	case err == nil, errors.Is(err, fs.ErrExist): // two tables may have a file
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return err
	}
	from, err := os.Open(path)
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	return errors.Join(err, to.Close())
}

// open waits for the handshake, sets limits and opens DuckDB.
func (p *Process) open(ctx context.Context, spec Spec, open OpenRequest) error {
	open.Dir = folderInWorker(spec.Tables)
	var shake handshake
	err := p.wait(ctx, func() error {
		payload, err := ReadFrame(p.out, 1<<10)
		if err != nil {
			return err
		}
		return json.Unmarshal(payload, &shake)
	})
	if err != nil {
		return fmt.Errorf("wait for a worker: %w", err)
	}
	if !spec.Unconfined {
		p.maxMemory = open.Memory + besideDuckDB
		open.Limits = &Limits{}
		if !shake.Race {
			size, err := addressSpace(p.PID)
			if err != nil {
				return fmt.Errorf("limit a worker: %w", err)
			}
			open.Limits.AddressSpace = size + addressBudget(open.Memory, open.Threads)
		}
	}
	head, _, err := p.Ask(ctx, Request{Op: OpOpen, Open: &open}, nil)
	if err != nil {
		return fmt.Errorf("open a worker: %w", err)
	}
	if head.Fault != nil {
		return fmt.Errorf("open a worker: %w", head.Fault)
	}
	return nil
}

// besideDuckDB is what a query worker may have in memory beside what DuckDB counts: of the program,
// of Go, and of what DuckDB does not count, such as long texts that it reads from files.
const besideDuckDB = 256 << 20

// Large reports whether a query worker has more than half of the memory that it may have.
func (p *Process) Large() bool { return p.maxMemory > 0 && p.resident() > p.maxMemory/2 }

// addressBudget is the address space that a worker may add: more than DuckDB's memory,
// since DuckDB does not count all of it, and stacks and arenas reserve more than they use.
func addressBudget(memory int64, threads int) uint64 {
	const reserve = 512 << 20
	return uint64(memory + memory/4 + reserve + int64(threads)*(80<<20))
}

// Ask sends a query worker a request and waits for the reply. Until then the worker can read
// the files of the request's tables. Of a stream, each takes the rows of all replies but the
// last. A worker that takes too much memory is killed, which is a fault. After an error, the worker must
// be killed.
func (p *Process) Ask(ctx context.Context, req Request, each func([]json.RawMessage) error) (head ReplyHead, rows []json.RawMessage, err error) {
	var unlink func()
	if req.Tables, unlink, err = p.link(req.Tables); err != nil {
		return head, nil, err
	}
	defer unlink()
	payload, err := json.Marshal(req)
	if err != nil {
		return head, nil, fmt.Errorf("encode a request: %w", err)
	}
	// Rows come with four bytes of length each.
	limit := min(maxHead+req.MaxBytes+4*int64(req.MaxRows), math.MaxInt32)
	exceeded := new(atomic.Bool)
	if p.maxMemory > 0 {
		var stop func()
		exceeded, stop = p.limitMemory(p.maxMemory)
		defer stop()
	}
	err = p.wait(ctx, func() error {
		if err := WriteFrame(p.channel, payload); err != nil {
			return err
		}
		for {
			reply, err := ReadFrame(p.out, int(limit))
			if err != nil {
				return err
			}
			if head, rows, err = decodeReply(reply, req.MaxRows); err != nil || !head.More {
				return err
			}
			if !req.Stream {
				return fmt.Errorf("%w: a stream was not asked for", ErrBadReply)
			}
			if err := each(rows); err != nil {
				return err
			}
		}
	})
	if Gone(err) && exceeded.Load() {
		err = &Fault{Kind: FaultMemory, Message: "out of memory"}
	}
	return head, rows, err
}

// ServeQueries answers requests in a query worker's process, one after the other and on one
// thread, and returns the exit status. answer sends all replies of a stream but the last by more.
// The process exits at once when the server closes the channel.
func ServeQueries(answer func(r Request, more func(rows [][]byte) error) (ReplyHead, [][]byte)) int {
	server := Connect()
	// Go's memory holds only the rows of a reply.
	debug.SetMemoryLimit(256 << 20)
	shake, err := json.Marshal(handshake{Race: RaceEnabled})
	if err != nil || WriteFrame(server, shake) != nil {
		return 1
	}
	requests := make(chan Request)
	go func() {
		// Reading during a query finds out when the server has ended.
		r := bufio.NewReader(server)
		for {
			payload, err := ReadFrame(r, MaxRequest)
			var req Request
			if err == nil {
				err = json.Unmarshal(payload, &req)
			}
			if err != nil {
				if errors.Is(err, io.EOF) {
					os.Exit(0)
				}
				os.Exit(2)
			}
			requests <- req
		}
	}()
	// This thread is restricted when DuckDB is open.
	runtime.LockOSThread()
	send := func(head ReplyHead, rows [][]byte) error {
		payload, err := EncodeReply(head, rows)
		if err != nil {
			return err
		}
		return WriteFrame(server, payload)
	}
	more := func(rows [][]byte) error { return send(ReplyHead{More: true}, rows) }
	for req := range requests {
		if err := send(answer(req, more)); err != nil {
			return 3
		}
	}
	return 0
}
