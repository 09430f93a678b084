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
}

var _ eval.Asker = (*client)(nil)

// Ask implements eval.Asker by SendMessage, for the questions before it too. Only
// what keeps a server from being asked at all stops the questions.
func (c *client) Ask(ctx context.Context, space eval.Namespace, question eval.Question) (eval.Reply, error) {
	conversation := ""
	for _, before := range question.After {
		task, err := c.send(ctx, space, before, conversation)
		if err != nil {
			return eval.Reply{}, err
		}
		conversation = task.ContextID
	}
	task, err := c.send(ctx, space, question.Question, conversation)
	if err != nil {
		return eval.Reply{}, err
	}
	return c.reply(task)
}

// send asks in a conversation, or in a new one.
func (c *client) send(ctx context.Context, space eval.Namespace, text, conversation string) (*apiclient.Task, error) {
	asked := apiclient.NewQuestion(text, space.Name)
	asked.ContextID = conversation
	task, err := c.Agent(c.agent).Send(ctx, asked)
	var refused *apiclient.RPCError
	if errors.As(err, &refused) {
		return nil, fmt.Errorf("the agent refused the question: %w", err)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", eval.ErrStop, err)
	}
	return task, nil
}

// reply reads the rows that a task has come to.
func (c *client) reply(task *apiclient.Task) (eval.Reply, error) {
	if task.Status.State != apiclient.Completed {
		said := task.Status.Message.Parts
		if said.Data().Code == agents.NotUnderstood {
			return eval.Reply{}, eval.Unanswered(said.Text())
		}
		return eval.Reply{Query: said.Data().Query}, errors.New(cmp.Or(said.Text(), "the run ended as "+string(task.Status.State)))
	}
	if c.agent == cards.AssistantName {
		return lastStep(task.Artifacts)
	}
	reply := eval.Reply{}
	for _, made := range task.Artifacts {
		switch made.ArtifactID {
		case agents.GeneratedQuery:
			reply.Query, reply.Confidence = made.Parts.Text(), made.Metadata.Confidence
		case agents.ResultData:
			if made.Unanswered() {
				return eval.Reply{}, eval.Unanswered(made.Parts.Text())
			}
			reply.Rows = llm.Rows{Rows: made.Parts.Data().Rows}
			return reply, nil
		}
	}
	return reply, errors.New("the run ended without a result")
}

// lastStep reads the rows of the last step: what the others found leads to it.
func lastStep(artifacts []apiclient.Artifact) (eval.Reply, error) {
	var last *apiclient.Artifact
	said := "nothing was looked up"
	for i, made := range artifacts {
		if made.ArtifactID == agents.AnswerText {
			said = made.Parts.Text()
		} else {
			last = &artifacts[i]
		}
	}
	if last == nil {
		return eval.Reply{}, eval.Unanswered(said)
	}
	if last.Unanswered() {
		return eval.Reply{}, eval.Unanswered(cmp.Or(last.Metadata.Reasoning, said))
	}
	return eval.Reply{Query: last.Parts.Text(), Confidence: last.Metadata.Confidence, Rows: llm.Rows{Rows: last.Parts.Data().Rows}}, nil
}
