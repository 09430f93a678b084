package engine

import (
	"errors"
	"fmt"

	"parley/storage/datasets/sandbox"
)

// QueryMain runs a query worker's process. It returns the exit status.
func QueryMain() int {
	var s session
	return sandbox.ServeQueries(s.answer)
}

type session struct{ engine *Engine }

func (s *session) answer(req sandbox.Request, more func([][]byte) error) (sandbox.ReplyHead, [][]byte) {
	out, err := s.handle(req, more)
	if err == nil {
		return out.Head, out.Rows
	}
	var fault *sandbox.Fault
	if !errors.As(err, &fault) {
		fault = &sandbox.Fault{Kind: sandbox.FaultRun, Message: err.Error()}
	}
	return sandbox.ReplyHead{Fault: fault}, nil
}

func (s *session) handle(req sandbox.Request, more func([][]byte) error) (out Result, err error) {
	if req.Op == sandbox.OpOpen {
		if s.engine != nil || req.Open == nil {
			return out, errors.New("a worker is opened once")
		}
		if req.Open.Limits != nil {
			if err := req.Open.Limits.Apply(); err != nil {
				return out, err
			}
		}
		s.engine, err = Open(*req.Open)
		return out, err
	}
	if s.engine == nil {
		return out, errors.New("the worker is not open")
	}
	switch req.Op {
	case sandbox.OpParse:
		out.Head.Tree, err = s.engine.Parse(req.SQL)
		if int64(len(out.Head.Tree)) > req.MaxBytes {
			return Result{}, &sandbox.Fault{Kind: sandbox.FaultQuery, Message: "the query is too long"}
		}
		return out, err
	case sandbox.OpRun:
		if err := sandbox.LimitCPU(req.CPU); err != nil {
			return out, fmt.Errorf("limit processor time: %w", err)
		}
		return s.engine.Run(req, more)
	}
	return out, fmt.Errorf("no such request: %q", req.Op)
}
