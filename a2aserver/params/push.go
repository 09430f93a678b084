package params

import (
	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
)

// PushConfig converts a config.
func PushConfig(in *a2apb.TaskPushNotificationConfig) *a2a.PushConfig {
	out := &a2a.PushConfig{
		Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId(), Token: in.GetToken(), URL: in.GetUrl(),
	}
	if auth := in.GetAuthentication(); auth != nil {
		out.Auth = &a2a.PushAuthInfo{Scheme: auth.GetScheme(), Credentials: auth.GetCredentials()}
	}
	return out
}

// GetPush converts a request.
func GetPush(in *a2apb.GetTaskPushNotificationConfigRequest) *a2a.GetTaskPushConfigRequest {
	return &a2a.GetTaskPushConfigRequest{Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId()}
}

// ListPush converts a request.
func ListPush(in *a2apb.ListTaskPushNotificationConfigsRequest) *a2a.ListTaskPushConfigRequest {
	return &a2a.ListTaskPushConfigRequest{
		Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), PageSize: int(in.GetPageSize()), PageToken: in.GetPageToken(),
	}
}

// DeletePush converts a request.
func DeletePush(in *a2apb.DeleteTaskPushNotificationConfigRequest) *a2a.DeleteTaskPushConfigRequest {
	return &a2a.DeleteTaskPushConfigRequest{Tenant: in.GetTenant(), TaskID: a2a.TaskID(in.GetTaskId()), ID: in.GetId()}
}
