package lake

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
)

// WorkerMain is what a worker process runs: it answers the server's requests,
// one after the other. The process ends with the server's end of the channel, at
// once, whatever it is doing; when WorkerMain returns, it is with the status to
// end with.
func WorkerMain() int {
	server := workerEnd()
	// What queries hold lives in DuckDB's memory; Go's own is the rows on their
	// way out.
	debug.SetMemoryLimit(256 << 20)
	greeting, err := json.Marshal(hello{Race: raceEnabled})
	if err != nil || writeFrame(server, greeting) != nil {
		return 1
	}
	requests := make(chan request)
	go func() {
		// Reading goes on while a query runs, so that a worker whose server is
		// gone ends at once and not with its query.
		r := bufio.NewReader(server)
		for {
			payload, err := readFrame(r, maxRequest)
			var req request
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
	var w worker
	for req := range requests {
		head, rows := w.answer(req)
		payload, err := encodeReply(head, rows)
		if err != nil {
			return 3
		}
		if err := writeFrame(server, payload); err != nil {
			return 4
		}
	}
	return 0
}

type worker struct {
	engine *engine
}

func (w *worker) answer(req request) (replyHead, [][]byte) {
	out, err := w.handle(req)
	if err == nil {
		return out.head, out.rows
	}
	var f *fault
	if !errors.As(err, &f) {
		f = &fault{faultRun, err.Error()}
	}
	return replyHead{Fault: f}, nil
}

func (w *worker) handle(req request) (out outcome, err error) {
	if req.Op == opOpen {
		if w.engine != nil || req.Open == nil {
			return out, errors.New("a worker is opened once, for some tables")
		}
		if req.Open.Limits != nil {
			if err := bound(*req.Open.Limits); err != nil {
				return out, err
			}
		}
		w.engine, err = openEngine(*req.Open)
		return out, err
	}
	if w.engine == nil {
		return out, errors.New("the worker is not open")
	}
	switch req.Op {
	case opParse:
		out.head.Tree, err = w.engine.parse(req.SQL)
		if len(out.head.Tree) > maxTree {
			return outcome{}, &fault{faultQuery, "the query is too long"}
		}
		return out, err
	case opRun:
		if err := boundCPU(req.CPU); err != nil {
			return out, fmt.Errorf("limit processor time: %w", err)
		}
		return w.engine.run(req)
	}
	return out, fmt.Errorf("no such request: %q", req.Op)
}
