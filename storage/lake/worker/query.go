package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"

	"parley/storage"
)

// StartQuery starts a query worker and opens DuckDB in it, with the tables' files
// and no others. Of the request, the limits are set here.
func StartQuery(ctx context.Context, spec Spec, open OpenRequest) (*Process, error) {
	files, tables, err := openInherited(open.Tables)
	defer func() {
		for _, f := range files {
			_ = f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	spec.Files, open.Tables = files, tables
	p, err := Start(spec)
	if err != nil {
		return nil, err
	}
	if err := p.open(ctx, spec, open); err != nil {
		p.Kill()
		if Gone(err) {
			// Not the fault of a query, of which there is none yet.
			return nil, fmt.Errorf("%w: a worker ended at its start: %v: %s", storage.ErrUnavailable, err, p.CrashReport())
		}
		return nil, err
	}
	return p, nil
}

// openInherited opens the tables' files for a worker to inherit, and gives the tables
// with the names under which it finds them. So it needs no way to their folders.
func openInherited(tables []Table) (files []*os.File, renamed []Table, err error) {
	for _, t := range tables {
		paths := make([]string, len(t.Files))
		for i, path := range t.Files {
			f, err := os.Open(path)
			if err != nil {
				return files, nil, fmt.Errorf("open table %q: %w", t.Name, err)
			}
			paths[i] = inherited(path, firstFileFD+len(files))
			files = append(files, f)
		}
		t.Files = paths
		renamed = append(renamed, t)
	}
	return files, renamed, nil
}

// open waits for the worker's handshake, and has it set its limits and open DuckDB.
func (p *Process) open(ctx context.Context, spec Spec, open OpenRequest) error {
	var greeting handshake
	err := p.wait(ctx, func() error {
		payload, err := ReadFrame(p.out, 1<<10)
		if err != nil {
			return err
		}
		return json.Unmarshal(payload, &greeting)
	})
	if err != nil {
		return fmt.Errorf("wait for a worker: %w", err)
	}
	if !spec.Unconfined {
		setOOMScore(p.PID)
		open.Limits = &Limits{Files: len(spec.Files)}
		if !greeting.Race {
			size, err := addressSpace(p.PID)
			if err != nil {
				return fmt.Errorf("limit a worker: %w", err)
			}
			open.Limits.AddressSpace = size + addressBudget(open.Memory, open.Threads)
		}
	}
	head, _, err := p.Ask(ctx, Request{Op: OpOpen, Open: &open})
	if err != nil {
		return fmt.Errorf("open a worker: %w", err)
	}
	if head.Fault != nil {
		return fmt.Errorf("open a worker: %w", head.Fault)
	}
	return nil
}

// addressBudget is the address space that a worker may add to what it starts
// with, when DuckDB may use so much memory: DuckDB does not count all that it
// takes, and stacks and arenas are reserved and hardly used.
func addressBudget(memory int64, threads int) uint64 {
	const reserve = 512 << 20
	return uint64(memory + memory/4 + reserve + int64(threads)*(80<<20))
}

// Ask sends a query worker a request and waits for its reply. After an error, that
// of ctx among them, the worker is of no more use.
func (p *Process) Ask(ctx context.Context, req Request) (head ReplyHead, rows []json.RawMessage, err error) {
	payload, err := json.Marshal(req)
	if err != nil {
		return head, nil, fmt.Errorf("encode a request: %w", err)
	}
	// Rows come with four bytes of length each.
	limit := min(maxHead+req.MaxBytes+4*int64(req.MaxRows), math.MaxInt32)
	err = p.wait(ctx, func() error {
		if err := WriteFrame(p.channel, payload); err != nil {
			return err
		}
		reply, err := ReadFrame(p.out, int(limit))
		if err != nil {
			return err
		}
		head, rows, err = decodeReply(reply, req.MaxRows)
		return err
	})
	return head, rows, err
}

// ServeQueries is what a query worker's process runs: it answers the server's
// requests, one after the other and on one thread. The process ends with the server's
// end of the channel, at once, whatever it is doing; when ServeQueries returns, it is
// with the status to end with.
func ServeQueries(answer func(Request) (ReplyHead, [][]byte)) int {
	server := Connect()
	// What queries hold lives in DuckDB's memory; Go's own is the rows on their
	// way out.
	debug.SetMemoryLimit(256 << 20)
	greeting, err := json.Marshal(handshake{Race: RaceEnabled})
	if err != nil || WriteFrame(server, greeting) != nil {
		return 1
	}
	requests := make(chan Request)
	go func() {
		// Reading goes on while a query runs, so that a worker whose server is
		// gone ends at once and not with its query.
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
	// The thread that runs queries is restricted when DuckDB is open.
	runtime.LockOSThread()
	for req := range requests {
		payload, err := EncodeReply(answer(req))
		if err != nil {
			return 3
		}
		if err := WriteFrame(server, payload); err != nil {
			return 4
		}
	}
	return 0
}
