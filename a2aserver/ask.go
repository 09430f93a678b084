package a2aserver

import (
	"context"
	"errors"
	"io"
	"iter"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/auth"
	"parley/storage"
)

// Ask has an agent answer a question that came in by another way than A2A; it is
// a run like any other. A conversation that is named must exist. What the run
// comes to, Follow tells.
func (h *Host) Ask(ctx context.Context, caller storage.Caller, question storage.Question) (storage.RunRequest, error) {
	s, ok := h.services[question.Agent]
	if !ok {
		return storage.RunRequest{}, storage.Invalid(storage.FieldError{Field: "agent", Message: "must be the name of an agent"})
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question.Text))
	message.Metadata = map[string]any{namespaceKey: question.Namespace.Owner + "/" + question.Namespace.Name}
	for key, value := range map[string]string{modelKey: question.Model, providerKey: question.Provider, helperPromptKey: question.HelperPrompt} {
		if value != "" {
			message.Metadata[key] = value
		}
	}
	r, err := s.ask(ctx, caller, question, message, true)
	if err != nil {
		return storage.RunRequest{}, err
	}
	return r.request, r.waitCommitted(ctx)
}

// Stop ends a run of the caller's that is about to be deleted, if it goes on, so
// that those who follow it hear of its end.
func (h *Host) Stop(ctx context.Context, caller storage.Caller, runID string) error {
	kept, err := h.cfg.Log.Task(ctx, caller, "", runID, false)
	if err != nil || !kept.Open {
		return err
	}
	s, ok := h.services[kept.Agent]
	if !ok {
		return nil // nobody works on it
	}
	_, err = s.CancelTask(auth.WithCaller(ctx, caller), &a2a.CancelTaskRequest{ID: a2a.TaskID(runID)})
	if errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, a2a.ErrTaskNotFound) {
		return nil // it has ended just now
	}
	return err
}

// Follow tells what a run has come to, and what it comes to, until it ends. A
// run that fails is told of as Progress, not as an error. A Progress without a
// kind says only that the run goes on.
func (h *Host) Follow(ctx context.Context, caller storage.Caller, runID string) iter.Seq2[storage.Progress, error] {
	return func(yield func(storage.Progress, error) bool) {
		asked, err := h.cfg.Log.Run(ctx, caller, runID)
		if err != nil {
			yield(storage.Progress{}, err)
			return
		}
		s, ok := h.services[asked.Agent]
		if !ok {
			yield(storage.Progress{}, storage.Errorf(storage.ErrUnavailable, "the agent of this run is not here"))
			return
		}
		t := h.follow(caller, runID, 0)
		t.contextID = asked.ConversationID
		defer t.close()
		tick := time.NewTicker(h.cfg.KeepAlive)
		defer tick.Stop()
		for told, err := range progress(ctx, t, tick.C, s.agent.Progress(asked.Question)) {
			if !yield(told, err) || err != nil {
				return
			}
		}
	}
}

// progress reads a tail as a reader of runs is told.
func progress(ctx context.Context, t tail, tick <-chan time.Time, tell func(a2a.Event) []storage.Progress) iter.Seq2[storage.Progress, error] {
	return func(yield func(storage.Progress, error) bool) {
		for {
			kept, err := t.next(ctx, tick)
			switch {
			case errors.Is(err, io.EOF):
				return
			case errors.Is(err, errNoEvent):
				if !yield(storage.Progress{}, nil) {
					return
				}
				continue
			}
			var event a2a.Event
			if err == nil {
				event, err = decode(kept)
			}
			if err != nil {
				yield(storage.Progress{}, err)
				return
			}
			for _, told := range tell(event) {
				if !yield(told, nil) {
					return
				}
			}
		}
	}
}
