package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"parley/internal/auth"
	"parley/internal/baseurl"
	"parley/internal/domain"
	"parley/internal/fair"
)

// service is one agent as a transport calls it; the caller is in the context. Its methods are
// those of a2asrv.RequestHandler, but for streams, which have event numbers and encoded events
// and report request errors before the first event.
type service interface {
	SendMessage(ctx context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error)
	GetTask(ctx context.Context, request *a2a.GetTaskRequest) (*a2a.Task, error)
	ListTasks(ctx context.Context, request *a2a.ListTasksRequest) (*a2a.ListTasksResponse, error)
	CancelTask(ctx context.Context, request *a2a.CancelTaskRequest) (*a2a.Task, error)
	CreateTaskPushConfig(ctx context.Context, request *a2a.PushConfig) (*a2a.PushConfig, error)
	GetTaskPushConfig(ctx context.Context, request *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error)
	ListTaskPushConfigs(ctx context.Context, request *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error)
	DeleteTaskPushConfig(ctx context.Context, request *a2a.DeleteTaskPushConfigRequest) error
	GetExtendedAgentCard(ctx context.Context, request *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error)
	stream(ctx context.Context, request *a2a.SendMessageRequest) (subscription, error)
	// subscribe follows a task. after is the last event that the client has; with -1
	// the task comes first, with the number of its last event.
	subscribe(ctx context.Context, request *a2a.SubscribeToTaskRequest, after int64) (subscription, error)
	// extendedCard returns the card for the caller without signatures, those of one version
	// of the protocol.
	extendedCard(ctx context.Context, tenant string) (*a2a.AgentCard, error)
}

// agentService is one agent of a host; it implements service.
type agentService struct {
	host  *Host
	agent *Agent
}

var _ service = (*agentService)(nil)

func caller(ctx context.Context) (domain.Caller, error) {
	who, ok := auth.CallerFrom(ctx)
	if !ok {
		return domain.Caller{}, a2a.NewError(a2a.ErrUnauthenticated, "a valid bearer token is required")
	}
	return who, nil
}

// send starts a run for a message, whose files were taken out of it.
func (s *agentService) send(ctx context.Context, request *a2a.SendMessageRequest, taken attached) (*run, error) {
	defer fair.Release(ctx) // the files are stored, or not needed
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	if err := checkSend(request); err != nil {
		return nil, err
	}
	if request.Message.TaskID != "" {
		return s.continueTask(ctx, who, request.Message.TaskID, request)
	}
	question, err := s.toQuestion(ctx, who, request)
	if err != nil {
		return nil, err
	}
	waiting, err := s.waitingTask(ctx, question)
	if err != nil {
		return nil, err
	}
	if waiting != "" {
		// The question itself, sent again, is no answer.
		_, digest, err := s.host.cfg.Log.SentRun(ctx, who, s.agent.Name, question.Message.Key)
		switch {
		case err == nil && digest == question.Message.Digest:
			return nil, domain.ErrMessageSent
		case err != nil && !errors.Is(err, domain.ErrNotFound):
			return nil, err
		}
		return s.continueTask(ctx, who, waiting, request)
	}
	if err := s.checkParts(request.Message, taken); err != nil {
		return nil, err
	}
	if err := s.checkReferences(ctx, who, request.Message.ReferenceTasks); err != nil {
		return nil, err
	}
	if question.Push, err = s.inlinePush(ctx, who, request); err != nil {
		return nil, err
	}
	r, err := s.ask(ctx, question, request.Message, taken.files, false)
	return r, namespaceError(err)
}

// namespaceError returns the error for a question whose namespace or conversation was not found.
func namespaceError(err error) error {
	if errors.Is(err, domain.ErrNoConversation) {
		return invalidField("message.contextId", "is not found, or your token does not cover it")
	}
	if errors.Is(err, domain.ErrNotFound) {
		return errNoNamespace
	}
	return err
}

var errNoNamespace = fmt.Errorf("%w: %w", a2a.ErrInvalidParams,
	domain.Errorf(domain.ErrInvalid, "namespace not found, or no access").At("message.metadata.namespace"))

// ask starts a run for a question that has been checked.
func (s *agentService) ask(ctx context.Context, question domain.Question, message *a2a.Message, files []domain.AttachedFile, mustExist bool) (*run, error) {
	if s.agent.Check != nil {
		if err := s.agent.Check(question); err != nil {
			return nil, err
		}
	}
	if s.host.cfg.Room != nil {
		if err := s.host.cfg.Room(ctx, question.Caller.Username); err != nil {
			return nil, err
		}
	}
	question.RunID = domain.NewID()
	options, err := s.resolve(ctx, &question, len(files) > 0)
	if err == nil && (question.Message.Key != "" && s.host.recent.add(question.Caller.Username, s.agent.Name, question.Message.Key) || len(files) > 0) {
		err = s.checkSent(ctx, question)
	}
	if err != nil {
		return nil, err
	}
	switch {
	case question.ConversationID == "":
		question.ConversationID = domain.NewID()
	case mustExist && !question.ConversationExists:
		// The same error as for a conversation of somebody else.
		return nil, fmt.Errorf("ask in conversation: %w", domain.ErrNotFound)
	}
	if len(files) > 0 {
		if question.Attachments, err = s.host.cfg.Attachments.Save(ctx, question.Caller, question.ConversationID, files); err != nil {
			return nil, err
		}
	}
	return s.host.start(s.agent, question, options, storedMessage(question, message))
}

// continueTask answers a task that waits for input. Others take no messages.
func (s *agentService) continueTask(ctx context.Context, who domain.Caller, id a2a.TaskID, request *a2a.SendMessageRequest) (*run, error) {
	release, err := s.host.cfg.shortSlot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	stored, err := s.storedTask(ctx, who, id, true)
	if err != nil {
		return nil, err
	}
	contextID, err := conversationID(who, s.agent.Name, request.Message.ContextID)
	switch {
	case err != nil:
		return nil, err
	case contextID != "" && contextID != stored.ConversationID:
		return nil, invalidField("message.contextId", "is not that of the task")
	}
	err = checkRepeated(s.host.readTask(stored), request.Message)
	switch {
	case err != nil:
		return nil, err
	case isWaiting(a2a.TaskState(stored.State)):
		r, err := s.answer(ctx, who, stored, request)
		if !errors.Is(err, domain.ErrConflict) {
			return r, err
		}
		// Somebody was faster: perhaps the same answer, sent twice.
		if stored, err = s.storedTask(ctx, who, id, true); err == nil {
			err = checkRepeated(s.host.readTask(stored), request.Message)
		}
		return nil, cmp.Or[error](err, a2a.NewError(a2a.ErrUnsupportedOperation, "the task no longer waits for an answer"))
	case stored.Open:
		return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task is being worked on and takes no more messages; ask again in its context")
	}
	return nil, a2a.NewError(a2a.ErrUnsupportedOperation, "the task has ended; ask again in its context")
}

// maxReferences limits the tasks that a message refers to.
const maxReferences = 10

// checkReferences refuses references to tasks that are not the caller's. They may be of
// another agent.
func (s *agentService) checkReferences(ctx context.Context, who domain.Caller, ids []a2a.TaskID) error {
	if len(ids) > maxReferences {
		return invalidField("message.referenceTaskIds", "must be at most %d", maxReferences)
	}
	for i, id := range ids {
		runID, err := readID(string(id))
		if err == nil {
			_, err = s.host.cfg.Log.Task(ctx, who, "", runID, false)
		} else {
			err = domain.ErrNotFound
		}
		if errors.Is(err, domain.ErrNotFound) {
			return a2a.NewError(a2a.ErrTaskNotFound, fmt.Sprintf("message.referenceTaskIds[%d]: task not found", i))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *agentService) storedTask(ctx context.Context, who domain.Caller, id a2a.TaskID, artifacts bool) (domain.Task, error) {
	runID, err := readID(string(id))
	if err != nil {
		return domain.Task{}, a2a.ErrTaskNotFound
	}
	if artifacts {
		if err := s.host.reserveTask(ctx, reservationFrom(ctx), who, runID); err != nil {
			return domain.Task{}, err
		}
	}
	stored, err := s.host.cfg.Log.Task(ctx, who, s.agent.Name, runID, artifacts)
	if errors.Is(err, domain.ErrNotFound) {
		return stored, a2a.ErrTaskNotFound
	}
	return stored, err
}

func (s *agentService) SendMessage(ctx context.Context, request *a2a.SendMessageRequest) (a2a.SendMessageResult, error) {
	request, taken := s.detach(withTenant(ctx, request))
	starting, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	r, err := s.send(starting, request, taken)
	if err == nil {
		err = namespaceError(r.waitCommitted(starting)) // deleted since it was found
	}
	cfg := request.Config
	if cfg == nil {
		cfg = &a2a.SendMessageConfig{}
	}
	if err != nil {
		stored, err := s.repeated(starting, request, err)
		if err != nil {
			return nil, err
		}
		return s.sentTask(ctx, request, stored, cfg)
	}
	if !cfg.ReturnImmediately {
		select {
		case <-r.ended:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		if r.settled {
			return modesOf(request).Task(withHistory(r.task, cfg.HistoryLength)), nil
		}
	}
	return s.sentTask(ctx, request, domain.Task{RunID: r.question.RunID, LastEvent: r.after, Open: true}, cfg)
}

// sentTask answers a request with a task that this host does not execute, when that has
// ended or waits for an answer.
func (s *agentService) sentTask(ctx context.Context, request *a2a.SendMessageRequest, stored domain.Task, cfg *a2a.SendMessageConfig) (*a2a.Task, error) {
	if stored.Open && !cfg.ReturnImmediately && !isWaiting(a2a.TaskState(stored.State)) {
		if err := s.waitRemote(ctx, stored); err != nil {
			return nil, err
		}
	}
	if stored.Agent != "" { // the message was sent before
		release, err := s.host.cfg.shortSlot(ctx)
		if err != nil {
			return nil, err
		}
		defer release()
	}
	task, err := s.GetTask(ctx, &a2a.GetTaskRequest{ID: a2a.TaskID(stored.RunID), HistoryLength: cfg.HistoryLength})
	if err != nil {
		return nil, err
	}
	return modesOf(request).Task(task), nil
}

// waitRemote waits for the end of a run that this host does not execute.
func (s *agentService) waitRemote(ctx context.Context, stored domain.Task) error {
	who, err := caller(ctx)
	if err != nil {
		return err
	}
	t := s.host.follow(who, stored.RunID, stored.LastEvent)
	defer t.close()
	for {
		if _, err := t.next(ctx, nil); err == io.EOF { // not a wrapped one, such as a lost connection
			return nil
		} else if err != nil {
			return err
		}
	}
}

// requestedTask returns the caller of a request and the task that it names.
func (s *agentService) requestedTask(ctx context.Context, id a2a.TaskID, history *int, artifacts bool) (who domain.Caller, stored domain.Task, err error) {
	if who, err = caller(ctx); err != nil {
		return who, stored, err
	}
	if err := checkTask(id, history); err != nil {
		return who, stored, err
	}
	stored, err = s.storedTask(ctx, who, id, artifacts)
	return who, stored, err
}

func (s *agentService) GetTask(ctx context.Context, request *a2a.GetTaskRequest) (*a2a.Task, error) {
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	_, stored, err := s.requestedTask(ctx, request.ID, request.HistoryLength, true)
	if err != nil {
		return nil, err
	}
	return withHistory(s.host.readTask(stored), request.HistoryLength), nil
}

func (s *agentService) CancelTask(ctx context.Context, request *a2a.CancelTaskRequest) (*a2a.Task, error) {
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	who, stored, err := s.requestedTask(ctx, request.ID, nil, false)
	if err != nil {
		return nil, err
	}
	if !stored.MayCancel {
		return nil, domain.ErrReadOnlyToken
	}
	task, err := s.host.endRun(ctx, s.agent, who, stored.RunID, runEnding{
		status: domain.RunFailed,
		last:   func(task *a2a.Task) a2a.Event { return s.canceledEvent(ctx, task) },
	})
	switch {
	case errors.Is(err, domain.ErrConflict):
		return nil, a2a.NewError(a2a.ErrTaskNotCancelable, "the task has ended")
	case errors.Is(err, domain.ErrNotFound):
		return nil, a2a.ErrTaskNotFound
	}
	return task, err
}

// canceledEvent returns the final event of a canceled task from the agent.
func (s *agentService) canceledEvent(ctx context.Context, task *a2a.Task) a2a.Event {
	request := &a2asrv.ExecutorContext{TaskID: task.ID, ContextID: task.ContextID, StoredTask: task}
	for event, err := range s.agent.Executor.Cancel(ctx, request) {
		if update, ok := event.(*a2a.TaskStatusUpdateEvent); err == nil && ok && update.Status.State.Terminal() {
			return update
		}
	}
	return a2a.NewStatusUpdateEvent(task, a2a.TaskStateCanceled, nil)
}

func (s *agentService) GetExtendedAgentCard(ctx context.Context, request *a2a.GetExtendedAgentCardRequest) (*a2a.AgentCard, error) {
	card, err := s.extendedCard(ctx, request.Tenant)
	if err != nil {
		return nil, err
	}
	return s.host.sign(ctx, card)
}

func (s *agentService) extendedCard(ctx context.Context, tenant string) (*a2a.AgentCard, error) {
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	who, err := caller(ctx)
	if err != nil {
		return nil, err
	}
	namespace, err := tenantNamespace(who, tenantOf(ctx, tenant))
	if err != nil {
		return nil, err
	}
	var card *a2a.AgentCard
	if namespace == (domain.NamespaceRef{}) {
		card, err = s.agent.ExtendedCard(ctx, who, baseurl.From(ctx))
	} else {
		card, err = s.agent.NamespaceCard(ctx, who, baseurl.From(ctx), namespace)
	}
	return card, namespaceError(err)
}
