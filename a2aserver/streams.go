package a2aserver

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/storage"
)

// tail reads the events of one run, including future ones.
type tail interface {
	// next waits for the next event. io.EOF itself says that the run has ended and all
	// events were read, errNoEvent that tick fired first.
	next(ctx context.Context, tick <-chan time.Time) (storage.Event, error)
	close()
}

func (s *agentService) stream(ctx context.Context, request *a2a.SendMessageRequest) (tail, error) {
	request, taken := s.detach(withTenant(ctx, request))
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	t, err := s.sendAndFollow(ctx, request, taken)
	if err != nil {
		if t, err = s.followRepeated(ctx, request, err); err != nil {
			return nil, err
		}
	}
	t.modes = modesOf(request)
	if request.Config != nil {
		t.history = request.Config.HistoryLength
	}
	return t, nil
}

// sendAndFollow opens a tail of a new run.
func (s *agentService) sendAndFollow(ctx context.Context, request *a2a.SendMessageRequest, taken attached) (*feedTail, error) {
	r, err := s.send(ctx, request, taken)
	if err != nil {
		return nil, err
	}
	// Opened before the first event, so that it is in memory.
	t := s.host.newTail(r.request.Caller, s.host.feeds.reacquire(r.feed), r.after)
	t.contextID = r.message.ContextID
	if err := r.waitCommitted(ctx); err != nil {
		t.close()
		return nil, namespaceError(err)
	}
	return t, nil
}

func (s *agentService) subscribe(ctx context.Context, request *a2a.SubscribeToTaskRequest, after int64) (tail, error) {
	request = orEmpty(request)
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	who, stored, err := s.requestedTask(ctx, request.ID, nil, after < 0)
	if err != nil {
		return nil, err
	}
	switch {
	case !stored.Open && (after < 0 || after >= stored.LastEvent):
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended; read it with GetTask")
	case after > stored.LastEvent:
		return nil, invalidField("Last-Event-ID", "is not that of an event of the task")
	}
	task := s.host.readTask(stored)
	if after >= 0 {
		t := s.host.follow(who, stored.RunID, after)
		t.contextID = task.ContextID
		return t, nil
	}
	head, err := a2ajson.Encode(stored.LastEvent, task)
	if err != nil {
		return nil, err
	}
	t := s.host.follow(who, stored.RunID, stored.LastEvent)
	t.head, t.contextID = &head, task.ContextID
	if memory := reservationFrom(ctx); memory != nil {
		t.reserved = memory // for the head
	}
	return t, nil
}

// decoded reads a tail to its end, without events that cannot be read. A nil event says
// that tick fired.
func (h *Host) decoded(ctx context.Context, t tail, tick <-chan time.Time) iter.Seq2[a2a.Event, error] {
	return func(yield func(a2a.Event, error) bool) {
		for {
			var event a2a.Event
			stored, err := t.next(ctx, tick)
			switch {
			case err == io.EOF: // not a wrapped one, such as a lost connection
				return
			case errors.Is(err, errNoEvent):
				err = nil
			case err == nil:
				if event, err = a2ajson.Decode(stored); err != nil {
					h.cfg.Logger.ErrorContext(ctx, "stored event unreadable", "number", stored.Number, "error", err)
					continue
				}
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}
