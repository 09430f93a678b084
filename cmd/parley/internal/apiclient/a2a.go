package apiclient

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/google/uuid"
)

// Codes of an RPCError.
const (
	TaskNotFound  = -32001
	TaskHasEnded  = -32002
	NotWaiting    = -32004
	InvalidParams = -32602
	InternalError = -32603
)

// RPCError is an error of an agent.
type RPCError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *RPCError) Error() string { return e.Message }

// Agent calls an agent over A2A.
type Agent struct {
	Name   string
	client *Client
}

// Agent returns the agent of a name, without checking that it exists.
func (c *Client) Agent(name string) Agent { return Agent{name, c} }

// Question is a question to an agent.
type Question struct {
	// ID is that of the message, by which Find finds the task.
	ID string
	// Namespace is a namespace of the user, or owner/namespace.
	Text, Namespace string
	// Files are sent with it, and become datasets of its conversation.
	Files []AttachedFile
	// ContextID continues a conversation, "" for a new one.
	ContextID string
	// Provider and Model choose a language model, "" for the server's choice.
	Provider, Model string
	// NeverAsk has the agent take the likelier of two readings instead of asking.
	NeverAsk bool
	// MinConfidence is the least confidence of an answer; nil for the server's default.
	MinConfidence *float64
	// TaskID is the task whose question this answers, and After the number of the event
	// that asked; "" for a question.
	TaskID string
	After  int64
}

// AttachedFile is a file of a question.
type AttachedFile struct {
	Name    string
	Content []byte
}

// NewQuestion returns a question with a new id.
func NewQuestion(text, namespace string) Question {
	return Question{ID: uuid.NewString(), Text: text, Namespace: namespace}
}

func (q Question) params() *a2a.SendMessageRequest {
	message := &a2a.Message{
		ID: q.ID, ContextID: q.ContextID, TaskID: a2a.TaskID(q.TaskID), Role: a2a.MessageRoleUser, Parts: a2a.ContentParts{a2a.NewTextPart(q.Text)},
	}
	for _, file := range q.Files {
		message.Parts = append(message.Parts, &a2a.Part{Content: a2a.Raw(file.Content), Filename: file.Name})
	}
	for key, value := range map[string]string{"namespace": q.Namespace, "provider": q.Provider, "model": q.Model} {
		if value != "" {
			message.SetMeta(key, value)
		}
	}
	if q.NeverAsk {
		message.SetMeta("neverAsk", true)
	}
	if q.MinConfidence != nil {
		message.SetMeta("minConfidence", *q.MinConfidence)
	}
	return &a2a.SendMessageRequest{Message: message}
}

// Send sends a question and waits for the end of the task, or for a question to the user,
// without a time limit.
func (a Agent) Send(ctx context.Context, q Question) (*Task, error) {
	var result struct{ Task *Task }
	if err := a.call(ctx, a.client.callUnlimited, "SendMessage", q.params(), &result); err != nil {
		return nil, err
	}
	if result.Task == nil {
		return nil, fmt.Errorf("%s gave no task", a.Name)
	}
	return result.Task, nil
}

// Task gets a task.
func (a Agent) Task(ctx context.Context, id string) (*Task, error) {
	task := new(Task)
	return task, a.call(ctx, a.client.Call, "GetTask", map[string]any{"id": id}, task)
}

// Cancel cancels a task.
func (a Agent) Cancel(ctx context.Context, id string) (*Task, error) {
	task := new(Task)
	return task, a.call(ctx, a.client.Call, "CancelTask", map[string]any{"id": id}, task)
}

// maxPage is the largest page of a list.
const maxPage = 100

// Tasks lists the user's tasks, the last changed first, without their artifacts.
func (a Agent) Tasks(ctx context.Context, limit int) ([]Task, error) {
	var tasks []Task
	for next := ""; len(tasks) < limit; {
		var page struct {
			Tasks         []Task
			NextPageToken string
		}
		params := map[string]any{"pageSize": min(limit-len(tasks), maxPage), "pageToken": next}
		if err := a.call(ctx, a.client.Call, "ListTasks", params, &page); err != nil {
			return nil, err
		}
		tasks = append(tasks, page.Tasks...)
		if next = page.NextPageToken; next == "" || len(page.Tasks) == 0 {
			break
		}
	}
	return tasks[:min(len(tasks), limit)], nil
}

// Find returns the task of a question; nil if it is not among the latest.
func (a Agent) Find(ctx context.Context, q Question) (*Task, error) {
	tasks, err := a.Tasks(ctx, maxPage)
	for i, task := range tasks {
		if task.Question().MessageID == q.ID {
			return &tasks[i], nil
		}
	}
	return nil, err
}

// rpcAnswer is a JSON-RPC response.
type rpcAnswer struct {
	Result json.RawMessage
	Error  *RPCError
}

func rpcRequest(method string, params any) map[string]any {
	return map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
}

func (a Agent) path() string { return "/a2a/" + url.PathEscape(a.Name) }

type caller func(ctx context.Context, method, path string, body, into any) error

// call sends a JSON-RPC request with a method of the client.
func (a Agent) call(ctx context.Context, call caller, method string, params, into any) error {
	var answer rpcAnswer
	if err := call(ctx, http.MethodPost, a.path(), rpcRequest(method, params), &answer); err != nil {
		return err
	}
	return answer.read(into)
}

func (r rpcAnswer) read(into any) error {
	if r.Error != nil {
		return r.Error
	}
	if json.Unmarshal(r.Result, into) != nil {
		return errNoEvent
	}
	return nil
}
