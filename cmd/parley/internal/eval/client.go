package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"parley/agents"
	"parley/cards"
	"parley/cmd/parley/internal/apiclient"
	"parley/llm"
	"parley/llm/eval"
)

// client asks an agent of a server.
type client struct {
	*apiclient.Client
	agent string
	// minConfidence is the least confidence of an answer.
	minConfidence *float64
}

// ask is an eval.Asker: it sends the questions before it and the question. Only an
// unavailable server stops the evaluation.
func (c *client) ask(ctx context.Context, space eval.Namespace, question eval.Question) (eval.Reply, error) {
	conversation := ""
	for _, before := range question.After {
		task, err := c.send(ctx, space, before, conversation)
		if err != nil {
			return eval.Reply{}, err
		}
		if task.Status.State.Waits() { // what follows would be taken for the answer
			return eval.Reply{}, eval.Unanswered(task.Status.Message.Parts.Text())
		}
		conversation = task.ContextID
	}
	task, err := c.send(ctx, space, question.Question, conversation)
	if err != nil {
		return eval.Reply{}, err
	}
	return c.reply(task)
}

// send sends a question in a conversation, "" for a new one.
func (c *client) send(ctx context.Context, space eval.Namespace, text, conversation string) (*apiclient.Task, error) {
	question := apiclient.NewQuestion(text, space.Name)
	question.ContextID, question.MinConfidence = conversation, c.minConfidence
	task, err := c.Agent(c.agent).Send(ctx, question)
	if _, ok := errors.AsType[*apiclient.RPCError](err); ok {
		return nil, fmt.Errorf("the agent refused the question: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eval.ErrStop, err)
	}
	return task, nil
}

func (c *client) reply(task *apiclient.Task) (eval.Reply, error) {
	if task.Status.State != apiclient.Completed {
		message := task.Status.Message.Parts
		if message.Data().Code == agents.NotUnderstood || task.Status.State.Waits() {
			return eval.Reply{}, eval.Unanswered(message.Text())
		}
		return eval.Reply{Query: message.Data().Query}, errors.New(cmp.Or(message.Text(), "the run ended as "+string(task.Status.State)))
	}
	if c.agent == cards.AssistantName {
		return lastStep(task.Artifacts)
	}
	reply := eval.Reply{}
	for _, artifact := range task.Artifacts {
		switch artifact.ArtifactID {
		case agents.GeneratedQuery:
			reply.Query, reply.Confidence = artifact.Parts.Text(), artifact.Metadata.Confidence
		case agents.ResultData:
			if artifact.Unanswered() {
				return eval.Reply{}, eval.Unanswered(artifact.Parts.Text())
			}
			reply.Rows = llm.Rows{Rows: artifact.Parts.Data().Rows, Measure: artifact.Metadata.Measure}
			return reply, nil
		}
	}
	return reply, errors.New("the run ended without a result")
}

func lastStep(artifacts []apiclient.Artifact) (eval.Reply, error) {
	var last *apiclient.Artifact
	answer := "nothing was looked up"
	for i, artifact := range artifacts {
		if artifact.ArtifactID == agents.AnswerText {
			answer = artifact.Parts.Text()
		} else {
			last = &artifacts[i]
		}
	}
	if last == nil {
		return eval.Reply{}, eval.Unanswered(answer)
	}
	if last.Unanswered() {
		return eval.Reply{}, eval.Unanswered(cmp.Or(last.Metadata.Reasoning, answer))
	}
	return eval.Reply{Query: last.Parts.Text(), Confidence: last.Metadata.Confidence, Rows: llm.Rows{Rows: last.Parts.Data().Rows, Measure: last.Metadata.Measure}}, nil
}
