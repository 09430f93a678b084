package a2aserver

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/a2aserver/a2ajson"
	"parley/a2aserver/modes"
	"parley/a2aserver/push"
	"parley/internal/domain"
	"parley/internal/safehttp"
	"parley/internal/seal"
)

// Push says how events are sent to the addresses that callers give.
type Push struct {
	// Policy says which addresses may be called.
	Policy safehttp.Policy
	// Secrets encrypts what callers give to authenticate us with.
	Secrets *seal.Box
	// GiveUpAfter is how long a receiver may fail.
	GiveUpAfter time.Duration
	// Observe is called with the outcome of each attempt; it may be nil.
	Observe func(push.Outcome)
}

var (
	errNoPush       = a2a.NewError(a2a.ErrPushNotificationNotSupported, "push notifications are not supported; subscribe to the task")
	errNoPushConfig = a2a.NewError(a2a.ErrTaskNotFound, "push notification config not found, or no access")
)

func (h *Host) newSender() *push.Sender {
	return push.New(push.Config{
		Log: h.cfg.Log, Holder: h.id, Policy: h.cfg.Push.Policy, Secrets: h.cfg.Push.Secrets, GiveUpAfter: h.cfg.Push.GiveUpAfter,
		Observe: h.cfg.Push.Observe, Logger: h.cfg.Logger, Task: h.taskForPush, Encode: encodePushed,
		Reserve: func(ctx context.Context, user string, bytes int) (func(), error) {
			r := &reservation{queue: h.cfg.Reads}
			return r.release, r.take(ctx, user, bytes)
		},
	})
}

// taskForPush returns a run's task as it is sent in place of its events.
func (h *Host) taskForPush(ctx context.Context, caller domain.Caller, runID string) (domain.Event, func(), error) {
	r := &reservation{queue: h.cfg.Reads}
	event, err := h.taskEvent(ctx, r, caller, runID)
	if err != nil {
		r.release()
	}
	return event, r.release, err
}

func (h *Host) taskEvent(ctx context.Context, r *reservation, caller domain.Caller, runID string) (domain.Event, error) {
	if err := h.reserveTask(ctx, r, caller, runID); err != nil {
		return domain.Event{}, err
	}
	stored, err := h.cfg.Log.Task(ctx, caller, "", runID, true)
	if err != nil {
		return domain.Event{}, err
	}
	task, err := a2ajson.ReadTask(stored)
	if err != nil {
		return domain.Event{}, err
	}
	return a2ajson.Encode(stored.LastEvent, task)
}

// PushTo returns a config that sends runs of a user to an address, with a token; "" for none. ErrInvalid
// when the address may not be called.
func (h *Host) PushTo(caller domain.Caller, id, address, token string) (domain.PushConfig, error) {
	config, secrets, err := push.ReadConfig(h.cfg.Push.Policy, "webhook.", &a2a.PushConfig{ID: id, URL: address, Token: token})
	if err != nil {
		return config, err
	}
	config.Secrets, err = secrets.Seal(h.cfg.Push.Secrets, caller.Username, config)
	return config, err
}

// encodePushed returns a stored event as the receiver of a config reads it.
func encodePushed(config domain.PushConfig, event domain.Event) (domain.Event, error) {
	if config.Modes == "" && config.Version == "" {
		return event, nil
	}
	decoded, err := a2ajson.Decode(event)
	if err != nil {
		return event, err
	}
	if config.Modes != "" {
		accepted, err := modes.Read(strings.Split(config.Modes, ","))
		if err != nil {
			return event, err
		}
		decoded = accepted.Event(decoded)
	}
	if config.Version != legacyVersion {
		return a2ajson.Encode(event.Number, decoded)
	}
	event.Body, err = encodeLegacy(decoded)
	return event, err
}

// pushedLog is a Log that notifies a sender of new events.
type pushedLog struct {
	Log
	sender *push.Sender
}

// Append implements Log.
func (l pushedLog) Append(change domain.TaskChange, done func(error)) {
	l.Log.Append(change, func(err error) {
		done(err)
		switch {
		case err != nil:
		case change.Start != nil && change.Start.Push != nil:
			l.sender.Added(change.RunID)
		default:
			l.sender.Notify(change.RunID)
		}
	})
}

// Listen implements Log.
func (l pushedLog) Listen(ctx context.Context, changed func(runID string)) error {
	return l.Log.Listen(ctx, func(runID string) {
		changed(runID)
		l.sender.Notify(runID)
	})
}

func (s *agentService) CreateTaskPushConfig(ctx context.Context, request *a2a.PushConfig) (*a2a.PushConfig, error) {
	who, stored, err := s.ownTask(ctx, request.TaskID)
	if err != nil {
		return nil, err
	}
	config, err := s.readPush(ctx, who, "", request)
	if err != nil {
		return nil, err
	}
	config.RunID = stored.RunID
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	if err := s.host.cfg.Log.SavePushConfig(ctx, who, config); err != nil {
		return nil, err
	}
	s.host.sender.Added(config.RunID)
	return push.ToA2A(config), nil
}

func (s *agentService) GetTaskPushConfig(ctx context.Context, request *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	configs, err := s.pushConfigs(ctx, request.TaskID)
	if err != nil {
		return nil, err
	}
	for _, config := range configs {
		// Clients of 0.3 need not name one: the first is meant.
		if config.ID == request.ID || request.ID == "" && isLegacy(ctx) {
			return push.ToA2A(config), nil
		}
	}
	return nil, errNoPushConfig
}

func (s *agentService) ListTaskPushConfigs(ctx context.Context, request *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	configs, err := s.pushConfigs(ctx, request.TaskID)
	if err == nil && request.PageSize < 0 {
		err = invalidField("pageSize", "must not be negative")
	}
	if err != nil {
		return nil, err
	}
	slices.SortFunc(configs, func(a, b domain.PushConfig) int { return strings.Compare(a.ID, b.ID) })
	page := &a2a.ListTaskPushConfigResponse{Configs: []*a2a.PushConfig{}}
	for _, config := range configs {
		if config.ID <= request.PageToken && request.PageToken != "" {
			continue
		}
		if request.PageSize > 0 && len(page.Configs) == request.PageSize {
			page.NextPageToken = page.Configs[len(page.Configs)-1].ID
			break
		}
		page.Configs = append(page.Configs, push.ToA2A(config))
	}
	return page, nil
}

func (s *agentService) DeleteTaskPushConfig(ctx context.Context, request *a2a.DeleteTaskPushConfigRequest) error {
	who, stored, err := s.ownTask(ctx, request.TaskID)
	if err != nil {
		return err
	}
	if domain.CheckText(request.ID, len(request.ID)) != "" {
		return nil // there is none
	}
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	return s.host.cfg.Log.DeletePushConfig(ctx, who, stored.RunID, request.ID)
}

// pushConfigs returns the configs of one of the caller's tasks.
func (s *agentService) pushConfigs(ctx context.Context, id a2a.TaskID) ([]domain.PushConfig, error) {
	who, stored, err := s.ownTask(ctx, id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	return s.host.cfg.Log.PushConfigs(ctx, who, stored.RunID)
}

// ownTask finds the caller's task that a config is of.
func (s *agentService) ownTask(ctx context.Context, id a2a.TaskID) (domain.Caller, domain.Task, error) {
	who, err := caller(ctx)
	switch {
	case err != nil:
		return who, domain.Task{}, err
	case s.host.sender == nil:
		return who, domain.Task{}, errNoPush
	case id == "":
		return who, domain.Task{}, invalidField("taskId", "is required")
	}
	ctx, cancel := s.host.withRequestTimeout(ctx)
	defer cancel()
	stored, err := s.storedTask(ctx, who, id, false)
	return who, stored, err
}

// inlinePush returns the config that comes with a message; nil for none.
func (s *agentService) inlinePush(ctx context.Context, who domain.Caller, request *a2a.SendMessageRequest) (*domain.PushConfig, error) {
	if request.Config == nil || request.Config.PushConfig == nil {
		return nil, nil
	}
	if s.host.sender == nil {
		return nil, errNoPush
	}
	config, err := s.readPush(ctx, who, "configuration.taskPushNotificationConfig.", request.Config.PushConfig)
	config.Modes = modesOf(request).String()
	return &config, err
}

// readPush checks a config, and encrypts its secrets. The names of its fields follow path.
func (s *agentService) readPush(ctx context.Context, who domain.Caller, path string, in *a2a.PushConfig) (domain.PushConfig, error) {
	config, secrets, err := push.ReadConfig(s.host.cfg.Push.Policy, path, in)
	if err != nil {
		return config, err
	}
	if isLegacy(ctx) {
		config.Version = legacyVersion
	}
	config.Secrets, err = secrets.Seal(s.host.cfg.Push.Secrets, who.Username, config)
	return config, err
}
