package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
)

// Push notifications are not supported; clients subscribe.

var errNoPush = a2a.NewError(a2a.ErrPushNotificationNotSupported, "push notifications are not supported; subscribe to the task")

func (*agentService) GetTaskPushConfig(context.Context, *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	return nil, errNoPush
}

func (*agentService) ListTaskPushConfigs(context.Context, *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	return nil, errNoPush
}

func (*agentService) CreateTaskPushConfig(context.Context, *a2a.PushConfig) (*a2a.PushConfig, error) {
	return nil, errNoPush
}

func (*agentService) DeleteTaskPushConfig(context.Context, *a2a.DeleteTaskPushConfigRequest) error {
	return errNoPush
}
