package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"parley/agents"
	"parley/cards"
	"parley/internal/apiclient"
	"parley/llm"
	"parley/llm/eval"
)

// evalClient asks an agent of a server.
type evalClient struct {
	*apiclient.Client
	agent string
}

var _ eval.Asker = (*evalClient)(nil)

// a2aTask is what is read of a task.
type a2aTask struct {
	Status struct {
		State   string
		Message struct{ Parts a2aParts }
	}
	Artifacts []a2aArtifact
}

type a2aArtifact struct {
	ArtifactID string
	Parts      a2aParts
	Metadata   struct {
		Answered   *bool
		Confidence float64
		Reasoning  string
	}
}

type a2aParts []struct {
	Text string
	Data struct {
		Rows  []json.RawMessage
		Query string
	}
}

func (p a2aParts) text() string {
	for _, part := range p {
		if part.Text != "" {
			return part.Text
		}
	}
	return ""
}

// Ask implements eval.Asker by SendMessage. Only what keeps a server from being
// asked at all stops the questions.
func (c *evalClient) Ask(ctx context.Context, space eval.Namespace, question eval.Question) (eval.Reply, error) {
	var answer struct {
		Result struct{ Task *a2aTask }
		Error  *struct{ Message string }
	}
	request := map[string]any{"jsonrpc": "2.0", "id": question.ID, "method": "SendMessage", "params": map[string]any{
		"message": map[string]any{
			"messageId": uuid.NewString(), "role": "ROLE_USER",
			"parts":    []any{map[string]any{"text": question.Question}},
			"metadata": map[string]any{"namespace": space.Name},
		},
	}}
	if err := c.Call(ctx, http.MethodPost, "/a2a/"+c.agent, request, &answer); err != nil {
		return eval.Reply{}, fmt.Errorf("%w: %w", eval.ErrStop, err)
	}
	switch {
	case answer.Error != nil:
		return eval.Reply{}, fmt.Errorf("the agent refused the question: %s", answer.Error.Message)
	case answer.Result.Task == nil:
		return eval.Reply{}, errors.New("the agent gave no task")
	}
	return c.reply(answer.Result.Task)
}

// reply reads the rows that a task has come to.
func (c *evalClient) reply(task *a2aTask) (eval.Reply, error) {
	if task.Status.State != "TASK_STATE_COMPLETED" {
		reply := eval.Reply{}
		for _, part := range task.Status.Message.Parts {
			reply.Query = cmp.Or(reply.Query, part.Data.Query)
		}
		return reply, errors.New(cmp.Or(task.Status.Message.Parts.text(), "the run ended as "+task.Status.State))
	}
	if c.agent == cards.AssistantName {
		return lastStep(task.Artifacts)
	}
	reply := eval.Reply{}
	for _, made := range task.Artifacts {
		switch made.ArtifactID {
		case agents.GeneratedQuery:
			reply.Query, reply.Confidence = made.Parts.text(), made.Metadata.Confidence
		case agents.ResultData:
			if made.unanswered() {
				return eval.Reply{}, eval.Unanswered(made.Parts.text())
			}
			reply.Rows = made.rows()
			return reply, nil
		}
	}
	return reply, errors.New("the run ended without a result")
}

// lastStep reads the rows of the last step: what the others found leads to it.
func lastStep(artifacts []a2aArtifact) (eval.Reply, error) {
	var last *a2aArtifact
	said := "nothing was looked up"
	for i, made := range artifacts {
		if made.ArtifactID == agents.AnswerText {
			said = made.Parts.text()
		} else {
			last = &artifacts[i]
		}
	}
	if last == nil {
		return eval.Reply{}, eval.Unanswered(said)
	}
	if last.unanswered() {
		return eval.Reply{}, eval.Unanswered(cmp.Or(last.Metadata.Reasoning, said))
	}
	return eval.Reply{Query: last.Parts.text(), Confidence: last.Metadata.Confidence, Rows: last.rows()}, nil
}

func (a a2aArtifact) unanswered() bool { return a.Metadata.Answered != nil && !*a.Metadata.Answered }

func (a a2aArtifact) rows() llm.Rows {
	for _, part := range a.Parts {
		if part.Data.Rows != nil {
			return llm.Rows{Rows: part.Data.Rows}
		}
	}
	return llm.Rows{}
}
