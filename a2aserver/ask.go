package a2aserver

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
)

// Ask starts a run for a question that did not come over A2A. A conversation that it
// names must exist, unless a watch asks; a namespace that it does not name is found as over A2A. Follow gives the
// run's progress.
func (h *Host) Ask(ctx context.Context, caller domain.Caller, question domain.Question) (domain.Question, error) {
	s, ok := h.services[question.Agent]
	if !ok {
		return domain.Question{}, domain.Invalid(domain.FieldError{Field: "agent", Message: "must be the name of an agent"})
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, a2a.NewTextPart(question.Text))
	message.Metadata = question.Metadata()
	question.Caller = caller
	r, err := s.ask(ctx, question, message, nil, question.Standing == nil)
	if err != nil {
		return domain.Question{}, invalidFor("the question", err)
	}
	return r.question, r.waitCommitted(ctx)
}

// invalidFor returns ErrInvalid for the invalid params of A2A, whose fields are those of A2A.
func invalidFor(what string, err error) error {
	if !errors.Is(err, a2a.ErrInvalidParams) {
		return err
	}
	if invalid, ok := errors.AsType[*domain.Error](err); ok {
		return domain.Errorf(domain.ErrInvalid, "%s", invalid.Message)
	}
	if invalid, ok := errors.AsType[*a2a.Error](err); ok {
		return domain.Errorf(domain.ErrInvalid, "%s", invalid.Message)
	}
	return domain.Errorf(domain.ErrInvalid, "%s is not valid", what)
}

// Examples returns questions about a dataset that the agents answer. ErrNotFound when the caller
// may not read its namespace.
func (h *Host) Examples(ctx context.Context, caller domain.Caller, ref domain.DatasetRef) ([]string, error) {
	s, ok := h.services[h.cfg.DefaultAgent]
	if !ok {
		return nil, nil
	}
	card, err := s.agent.NamespaceCard(ctx, caller, baseurl.From(ctx), domain.NamespaceRef{Owner: ref.Owner, Name: ref.Namespace})
	if err != nil {
		return nil, err
	}
	for _, skill := range card.Skills {
		if strings.EqualFold(skill.ID, ref.Name) {
			return skill.Examples, nil
		}
	}
	return nil, nil
}

// Stop cancels one of the caller's runs before it is deleted, so that its followers
// receive a final event.
func (h *Host) Stop(ctx context.Context, caller domain.Caller, runID string) error {
	stored, err := h.cfg.Log.Task(ctx, caller, "", runID, false)
	s := h.services[stored.Agent] // without one no host executes it
	if err != nil || s == nil || !stored.Open {
		return err
	}
	_, err = s.CancelTask(auth.WithCaller(ctx, caller), &a2a.CancelTaskRequest{ID: a2a.TaskID(runID)})
	if errors.Is(err, a2a.ErrTaskNotCancelable) || errors.Is(err, a2a.ErrTaskNotFound) {
		return nil // it ended in between
	}
	return err
}

// Follow returns the progress of a run from its start until it ends. A failed run is a
// Progress, not an error. A Progress without a kind is a keep-alive.
func (h *Host) Follow(ctx context.Context, caller domain.Caller, runID string) iter.Seq2[domain.Progress, error] {
	return func(yield func(domain.Progress, error) bool) {
		asked, err := h.cfg.Log.Run(ctx, caller, runID)
		if err != nil {
			yield(domain.Progress{}, err)
			return
		}
		s, ok := h.services[asked.Agent]
		if !ok {
			yield(domain.Progress{}, domain.Errorf(domain.ErrUnavailable, "the agent of this run is not available"))
			return
		}
		t := h.follow(caller, runID, 0)
		t.contextID = asked.ConversationID
		defer t.close()
		tick := time.NewTicker(h.cfg.KeepAlive)
		defer tick.Stop()
		convert := s.agent.Progress(asked.Question)
		for event, err := range h.decoded(ctx, t, tick.C) {
			reports := []domain.Progress{{}}
			if event != nil {
				reports = convert(event)
			}
			if err != nil {
				yield(domain.Progress{}, err)
				return
			}
			for _, each := range reports {
				if !yield(each, nil) {
					return
				}
			}
		}
	}
}
