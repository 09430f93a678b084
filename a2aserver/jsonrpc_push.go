package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"

	"parley/a2aserver/a2ajson"
)

// Params and results of the methods of push notification configs.

func toPushConfig(in *a2apb.TaskPushNotificationConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{
		Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId(), Token: in.GetToken(), URL: in.GetUrl(),
	}
	if auth := in.GetAuthentication(); auth != nil {
		out.Auth = &a2a.PushAuthInfo{Scheme: auth.GetScheme(), Credentials: auth.GetCredentials()}
	}
	return out
}

func toGetPush(in *a2apb.GetTaskPushNotificationConfigRequest) *a2a.GetTaskPushConfigRequest {
	return &a2a.GetTaskPushConfigRequest{Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId()}
}

func toListPush(in *a2apb.ListTaskPushNotificationConfigsRequest) *a2a.ListTaskPushConfigRequest {
	return &a2a.ListTaskPushConfigRequest{
		Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), PageSize: int(in.GetPageSize()), PageToken: in.GetPageToken(),
	}
}

func toDeletePush(in *a2apb.DeleteTaskPushNotificationConfigRequest) *a2a.DeleteTaskPushConfigRequest {
	return &a2a.DeleteTaskPushConfigRequest{Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId()}
}

func readPushConfig(request rpcRequest) (*a2a.PushConfig, error) {
	var in a2apb.TaskPushNotificationConfig
	err := readParams(request, &in)
	return toPushConfig(&in), err
}

func readGetPush(request rpcRequest) (*a2a.GetTaskPushConfigRequest, error) {
	var in a2apb.GetTaskPushNotificationConfigRequest
	err := readParams(request, &in)
	return toGetPush(&in), err
}

func readListPush(request rpcRequest) (*a2a.ListTaskPushConfigRequest, error) {
	var in a2apb.ListTaskPushNotificationConfigsRequest
	err := readParams(request, &in)
	return toListPush(&in), err
}

func readDeletePush(request rpcRequest) (*a2a.DeleteTaskPushConfigRequest, error) {
	var in a2apb.DeleteTaskPushNotificationConfigRequest
	err := readParams(request, &in)
	return toDeletePush(&in), err
}

func encodePushConfig(_ transport, config *a2a.PushConfig) ([]byte, error) {
	return a2ajson.Marshal(config)
}

func encodePushList(_ transport, list *a2a.ListTaskPushConfigResponse) ([]byte, error) {
	if list.Configs == nil {
		list.Configs = []*a2a.PushConfig{} // not null
	}
	return a2ajson.Marshal(list)
}

// none is the result of a method that has none.
type none struct{}

func deletePush(agent service, ctx context.Context, request *a2a.DeleteTaskPushConfigRequest) (none, error) {
	return none{}, agent.DeleteTaskPushConfig(ctx, request)
}

// encodeNone gives google.protobuf.Empty.
func encodeNone(transport, none) ([]byte, error) { return []byte("{}"), nil }
