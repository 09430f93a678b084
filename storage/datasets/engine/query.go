package engine

import (
	"errors"
	"fmt"

	"parley/storage/datasets/worker"
)

// QueryMain runs a query worker's process. It gives the exit status.
func QueryMain() int {
	var s session
	return worker.ServeQueries(s.answer)
}

type session struct{ engine *Engine }

func (s *session) answer(req worker.Request, more func([][]byte) error) (worker.ReplyHead, [][]byte) {
	out, err := s.handle(req, more)
	if err == nil {
		return out.Head, out.Rows
	}
	var fault *worker.Fault
	if !errors.As(err, &fault) {
		fault = &worker.Fault{Kind: worker.FaultRun, Message: err.Error()}
	}
	return worker.ReplyHead{Fault: fault}, nil
}

func (s *session) handle(req worker.Request, more func([][]byte) error) (out Result, err error) {
	if req.Op == worker.OpOpen {
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
	case worker.OpParse:
		out.Head.Tree, err = s.engine.Parse(req.SQL)
		if int64(len(out.Head.Tree)) > req.MaxBytes {
			return Result{}, &worker.Fault{Kind: worker.FaultQuery, Message: "the query is too long"}
		}
		return out, err
	case worker.OpRun:
		if err := worker.LimitCPU(req.CPU); err != nil {
			return out, fmt.Errorf("limit processor time: %w", err)
		}
		return s.engine.Run(req, more)
	}
	return out, fmt.Errorf("no such request: %q", req.Op)
}
