package push

import (
	"context"
	"errors"
	"time"

	"parley/internal/domain"
	"parley/internal/retry"
)

// retries are the pauses after failures.
var retries = retry.Policy{Initial: time.Second, Max: 5 * time.Minute, Jitter: true}

// busyPause is how long a config waits that could not be read, through no fault of its
// receiver.
const busyPause = 2 * time.Second

// send sends what there is of a config that this host holds, and releases it.
func (s *Sender) send(ctx context.Context, push domain.Push) {
	result, err := s.deliver(ctx, &push)
	switch {
	case errors.Is(err, domain.ErrConflict):
		return // it was deleted or replaced, or another host has it
	case ctx.Err() != nil:
		result.Pause = 0 // this host stops: another goes on
	case err != nil:
		s.cfg.Logger.Warn("push interrupted", "run", push.RunID, "error", err)
	}
	if result.Pause > 0 && result.Pause < pollInterval {
		time.AfterFunc(result.Pause, func() { s.Notify(push.RunID) })
	}
	s.inStore(context.WithoutCancel(ctx), "push release failed", func(ctx context.Context) error {
		err := s.cfg.Log.ReleasePush(ctx, s.cfg.Holder, push, result)
		if errors.Is(err, domain.ErrConflict) {
			return nil
		}
		return err
	})
}

// deliver sends what follows a config's position, and moves the position. The error is one
// of the store, or of this process; it is not the receiver's fault.
func (s *Sender) deliver(ctx context.Context, push *domain.Push) (domain.PushResult, error) {
	began := time.Now()
	secrets, failure := openSecrets(s.cfg.Secrets, push.Caller.Username, push.PushConfig)
	for saved := push.Position; ; {
		page, release, err := s.next(ctx, push)
		switch {
		case errors.Is(err, domain.ErrNotFound): // the run is gone, or not for its token any more
			return domain.PushResult{Position: push.Position, Ended: true}, nil
		case err != nil:
			return domain.PushResult{Position: push.Position, Pause: busyPause}, err
		case len(page) == 0:
			return s.settle(ctx, push)
		}
		for _, event := range page {
			if saved != push.Position {
				err = s.cfg.Log.AdvancePush(ctx, s.cfg.Holder, *push, push.Position)
				saved = push.Position
			}
			if err == nil && failure == nil {
				failure = s.post(ctx, push, secrets, event)
			}
			if err != nil || failure != nil {
				release()
				return s.failed(ctx, push, time.Since(began), failure), errors.Join(err, ctx.Err())
			}
			s.observe(Delivered)
			push.Position, push.Failures, push.Failing, began = event.Number, 0, 0, time.Now()
		}
		release()
	}
}

// next reads the events that follow a config's position; none when there are none. The task
// stands in for events that were removed, and for all of them where the version of the
// protocol knows no events. release, where there are some, frees their memory.
func (s *Sender) next(ctx context.Context, push *domain.Push) (page []domain.Event, release func(), err error) {
	if push.Position == domain.PushFromTask {
		return s.wholeTask(ctx, push)
	}
	bytes, err := s.cfg.Log.EventBytes(ctx, push.Caller, push.RunID, push.Position)
	if err != nil || bytes == 0 {
		return nil, nil, err
	}
	if release, err = s.cfg.Reserve(ctx, push.Caller.Username, bytes); err != nil {
		return nil, nil, err
	}
	page, err = s.cfg.Log.Events(ctx, push.Caller, push.RunID, push.Position)
	if err != nil || len(page) == 0 {
		release()
		return nil, nil, err
	}
	page = upToGap(page, push.Position)
	if len(page) == 0 || push.Version != "" {
		release()
		return s.wholeTask(ctx, push)
	}
	return page, release, nil
}

// upToGap returns the events that follow a position without a gap.
func upToGap(page []domain.Event, position int64) []domain.Event {
	for i, event := range page {
		if event.Number != position+int64(i)+1 {
			return page[:i]
		}
	}
	return page
}

func (s *Sender) wholeTask(ctx context.Context, push *domain.Push) ([]domain.Event, func(), error) {
	task, release, err := s.cfg.Task(ctx, push.Caller, push.RunID)
	if err != nil {
		return nil, nil, err
	}
	return []domain.Event{task}, release, nil
}

// settle says what follows for a config whose events were all received: nothing, when its run
// has ended.
func (s *Sender) settle(ctx context.Context, push *domain.Push) (domain.PushResult, error) {
	result := domain.PushResult{Position: push.Position}
	task, err := s.cfg.Log.Task(ctx, push.Caller, "", push.RunID, false)
	if errors.Is(err, domain.ErrNotFound) {
		result.Ended = true
		return result, nil
	}
	if err != nil {
		result.Pause = busyPause
		return result, err
	}
	result.Ended = !task.Open && task.LastEvent <= push.Position
	return result, nil
}

// failed says what follows a failure: nil when there was none of the receiver's.
func (s *Sender) failed(ctx context.Context, push *domain.Push, took time.Duration, failure error) domain.PushResult {
	result := domain.PushResult{Position: push.Position}
	if failure == nil || ctx.Err() != nil {
		result.Pause = busyPause
		return result
	}
	result.Failed, result.Pause = true, retries.Pause(push.Failures+1)
	if refused, ok := errors.AsType[*refusal](failure); ok {
		result.Pause = max(result.Pause, refused.after)
	}
	attributes := []any{"run", push.RunID, "config", push.ID, "receiver", push.Receiver, "failures", push.Failures + 1, "error", failure}
	s.observe(Failed)
	switch {
	case isGone(failure) || push.Failing+took >= s.cfg.GiveUpAfter:
		result.Ended = true
		s.observe(GivenUp)
		s.cfg.Logger.Warn("push notifications given up", append(attributes, "failing", push.Failing+took)...)
	case push.Failures == 0:
		s.cfg.Logger.Warn("push notification failed", append(attributes, "again_in", result.Pause)...)
	default:
		s.cfg.Logger.Debug("push notification failed", append(attributes, "again_in", result.Pause)...)
	}
	return result
}

func (s *Sender) observe(outcome Outcome) {
	if s.cfg.Observe != nil {
		s.cfg.Observe(outcome)
	}
}
