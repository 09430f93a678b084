package agents

import (
	"context"
	"errors"
	"fmt"

	"parley/internal/domain"
	"parley/llm"
)

// verifiedReasoning says how a question with a verified query was read.
const verifiedReasoning = "This question has a verified query."

// verified answers the question with its verified query; nil when there is none, or it no
// longer runs for the user. A conversation with attachments has none: its questions may be
// about them.
func (w *Run) verified(ctx context.Context) (*Found, error) {
	if w.config.Verified == nil || w.question.Namespace == (domain.NamespaceRef{}) || len(w.attached) > 0 {
		return nil, nil
	}
	if w.verifiedRead {
		return w.verifiedFound, nil
	}
	saved, err := retryWhileUnavailable(ctx, w, func() (domain.SavedQuery, error) {
		return w.config.Verified.VerifiedQuery(ctx, w.question.Caller, w.question.Namespace, w.question.Text)
	})
	if err != nil && !errors.Is(err, domain.ErrNotFound) {
		return nil, fmt.Errorf("find the verified query: %w", err)
	}
	if err == nil {
		found := Found{Step: llm.Step{Instruction: w.question.Text, Query: saved.Query, Reasoning: verifiedReasoning}, Confidence: 1, Verified: true, VerifiedBy: saved.SavedBy, asIs: true}
		if err = w.run(ctx, &found); err == nil {
			w.verifiedFound = &found
		} else if !errors.Is(err, domain.ErrInvalid) {
			return nil, &queryError{err: err} // its SQL may name what the user may not see
		}
	}
	w.verifiedRead = true
	return w.verifiedFound, nil
}

// asks reports whether a step is the whole question.
func (w *Run) asks(instruction string) bool {
	return instruction == w.question.Text || instruction == clean(w.question.Text, maxInstruction)
}
