package a2aserver

import (
	"context"
	"errors"
	"io"
	"iter"
	"math"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/internal/domain"
)

// subscription reads the events of one run, including future ones.
type subscription interface {
	// next waits for the next event. io.EOF itself says that the run has ended and all
	// events were read, errNoEvent that tick fired first.
	next(ctx context.Context, tick <-chan time.Time) (domain.Event, error)
	close()
}

// OpenStream counts a stream of a user until close is called, which may be called twice.
// ErrTooMany when the user has as many as one may. Each takes a connection.
func (h *Host) OpenStream(caller domain.Caller) (closeStream func(), err error) {
	limit := h.cfg.UserStreams
	if limit == 0 {
		limit = math.MaxInt
	}
	closeStream, ok := h.streams.Open(caller.Username, limit)
	if !ok {
		return nil, domain.Errorf(domain.ErrTooMany, "you have %d open streams, which is the most; close one, or try again later", limit)
	}
	return closeStream, nil
}

// openSubscription opens a subscription that counts as a stream of the caller. A stream that is refused starts
// no run.
func (s *agentService) openSubscription(ctx context.Context, open func(who domain.Caller) (*runSubscription, error)) (subscription, error) {
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	closeStream, err := s.host.OpenStream(who)
	if err != nil {
		return nil, err
	}
	var t *runSubscription
	defer func() {
		if t == nil { // also after a panic
			closeStream()
		}
	}()
	if t, err = open(who); err != nil {
		return nil, err
	}
	t.closeStream = closeStream
	if memory := reservationFrom(ctx); memory != nil {
		t.reserved = memory // which may be in use for the first event
	}
	return t, nil
}

func (s *agentService) stream(ctx context.Context, request *a2a.SendMessageRequest) (subscription, error) {
	return s.openSubscription(ctx, func(who domain.Caller) (t *runSubscription, err error) {
		request, taken := s.detach(withTenant(ctx, request))
		ctx, cancel := s.host.withRequestTimeout(ctx)
		defer cancel()
		r, err := s.send(ctx, request, taken)
		if err == nil {
			// Opened before the first event, so that it is in memory.
			t = s.host.newSubscription(who, s.host.broadcasters.reacquire(r.broadcaster), r.after)
			t.contextID = r.message.ContextID
			if err = namespaceError(r.waitCommitted(ctx)); err != nil {
				t.close()
			}
		}
		if err != nil {
			stored, err := s.repeated(ctx, request, err)
			if err != nil {
				return nil, err
			}
			t = s.host.follow(who, stored.RunID, 0)
			t.contextID = s.host.readTask(stored).ContextID
		}
		t.modes = modesOf(request)
		if request.Config != nil {
			t.history = request.Config.HistoryLength
		}
		return t, nil
	})
}

func (s *agentService) subscribe(ctx context.Context, request *a2a.SubscribeToTaskRequest, after int64) (subscription, error) {
	return s.openSubscription(ctx, func(domain.Caller) (*runSubscription, error) { return s.openTask(ctx, request, after) })
}

// openTask opens a subscription of a run after an event, or with the task first.
func (s *agentService) openTask(ctx context.Context, request *a2a.SubscribeToTaskRequest, after int64) (*runSubscription, error) {
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	release, err := s.host.cfg.shortSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
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
	task, head := s.host.readTask(stored), (*domain.Event)(nil)
	if after < 0 {
		encoded, err := a2ajson.Encode(stored.LastEvent, task)
		if err != nil {
			return nil, err
		}
		head, after = &encoded, stored.LastEvent
	}
	t := s.host.follow(who, stored.RunID, after)
	t.head, t.contextID = head, task.ContextID
	return t, nil
}

// decoded reads a subscription to its end, without events that cannot be read. A nil event says
// that tick fired.
func (h *Host) decoded(ctx context.Context, t subscription, tick <-chan time.Time) iter.Seq2[a2a.Event, error] {
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
