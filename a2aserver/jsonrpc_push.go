package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

func toPush(in *a2apb.TaskPushNotificationConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{
		Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId(), URL: in.GetUrl(), Token: in.GetToken(),
	}
	if auth := in.GetAuthentication(); auth != nil {
		out.Auth = &a2a.PushAuthInfo{Scheme: auth.GetScheme(), Credentials: auth.GetCredentials()}
	}
	return out
}

func readCreatePush(request rpcRequest) (*a2a.PushConfig, error) {
	var in a2apb.TaskPushNotificationConfig
	err := readParams(request, &in)
	return toPush(&in), err
}

func readGetPush(request rpcRequest) (*a2a.GetTaskPushConfigRequest, error) {
	var in a2apb.GetTaskPushNotificationConfigRequest
	err := readParams(request, &in)
	return &a2a.GetTaskPushConfigRequest{Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId()}, err
}

func readListPushes(request rpcRequest) (*a2a.ListTaskPushConfigRequest, error) {
	var in a2apb.ListTaskPushNotificationConfigsRequest
	err := readParams(request, &in)
	return &a2a.ListTaskPushConfigRequest{
		Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), PageSize: int(in.GetPageSize()), PageToken: in.GetPageToken(),
	}, err
}

func readDeletePush(request rpcRequest) (*a2a.DeleteTaskPushConfigRequest, error) {
	var in a2apb.DeleteTaskPushNotificationConfigRequest
	err := readParams(request, &in)
	return &a2a.DeleteTaskPushConfigRequest{Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId()}, err
}

// deletePush gives the method a result.
func deletePush(agent service, ctx context.Context, request *a2a.DeleteTaskPushConfigRequest) (struct{}, error) {
	return struct{}{}, agent.DeleteTaskPushConfig(ctx, request)
}

func encodePush(_ transport, config *a2a.PushConfig) ([]byte, error) { return encodeJSON(config) }

func encodePushes(_ transport, page *a2a.ListTaskPushConfigResponse) ([]byte, error) {
	return encodeJSON(page)
}

func encodeEmpty(transport, struct{}) ([]byte, error) { return []byte("{}"), nil }
