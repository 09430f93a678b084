package a2aserver

import (
	"context"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"

	"parley/a2aserver/params"
)

// grpcService is A2A's gRPC service for all agents of a host. The SDK's own is not used:
// it shows the text of internal errors, and drops metadata of requests and negative
// numbers, which the host would refuse.
type grpcService struct {
	a2apb.UnimplementedA2AServiceServer
	host *Host
}

var _ a2apb.A2AServiceServer = grpcService{}

// SendMessage implements a2apb.A2AServiceServer, as do the methods below.
func (g grpcService) SendMessage(ctx context.Context, in *a2apb.SendMessageRequest) (*a2apb.SendMessageResponse, error) {
	return answerGRPC(ctx, g.host, "SendMessage", in, params.SendMessage, service.SendMessage, encodeSent, new(a2apb.SendMessageResponse))
}

func (g grpcService) SendStreamingMessage(in *a2apb.SendMessageRequest, stream grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	return streamGRPC(g.host, "SendStreamingMessage", in, stream, func(ctx context.Context, agent service) (subscription, error) {
		return agent.stream(ctx, params.SendMessage(in))
	})
}

func (g grpcService) GetTask(ctx context.Context, in *a2apb.GetTaskRequest) (*a2apb.Task, error) {
	return answerGRPC(ctx, g.host, "GetTask", in, params.GetTask, service.GetTask, encodeTask, new(a2apb.Task))
}

func (g grpcService) ListTasks(ctx context.Context, in *a2apb.ListTasksRequest) (*a2apb.ListTasksResponse, error) {
	convert := func(in *a2apb.ListTasksRequest) *a2a.ListTasksRequest {
		if in.GetPageSize() == 0 {
			in.PageSize = nil // clients of a2a-go send 0 for none
		}
		return params.ListTasks(in, nil)
	}
	return answerGRPC(ctx, g.host, "ListTasks", in, convert, service.ListTasks, encodeList, new(a2apb.ListTasksResponse))
}

func (g grpcService) CancelTask(ctx context.Context, in *a2apb.CancelTaskRequest) (*a2apb.Task, error) {
	return answerGRPC(ctx, g.host, "CancelTask", in, params.CancelTask, service.CancelTask, encodeTask, new(a2apb.Task))
}

func (g grpcService) SubscribeToTask(in *a2apb.SubscribeToTaskRequest, stream grpc.ServerStreamingServer[a2apb.StreamResponse]) error {
	return streamGRPC(g.host, "SubscribeToTask", in, stream, func(ctx context.Context, agent service) (subscription, error) {
		return agent.subscribe(ctx, params.Subscribe(in), -1)
	})
}

func (g grpcService) CreateTaskPushNotificationConfig(ctx context.Context, in *a2apb.TaskPushNotificationConfig) (*a2apb.TaskPushNotificationConfig, error) {
	return answerGRPC(ctx, g.host, "CreateTaskPushNotificationConfig", in, params.PushConfig, service.CreateTaskPushConfig, encodePushConfig,
		new(a2apb.TaskPushNotificationConfig))
}

func (g grpcService) GetTaskPushNotificationConfig(ctx context.Context, in *a2apb.GetTaskPushNotificationConfigRequest) (*a2apb.TaskPushNotificationConfig, error) {
	return answerGRPC(ctx, g.host, "GetTaskPushNotificationConfig", in, params.GetPush, service.GetTaskPushConfig, encodePushConfig,
		new(a2apb.TaskPushNotificationConfig))
}

func (g grpcService) ListTaskPushNotificationConfigs(ctx context.Context, in *a2apb.ListTaskPushNotificationConfigsRequest) (*a2apb.ListTaskPushNotificationConfigsResponse, error) {
	return answerGRPC(ctx, g.host, "ListTaskPushNotificationConfigs", in, params.ListPush, service.ListTaskPushConfigs, encodePushList,
		new(a2apb.ListTaskPushNotificationConfigsResponse))
}

func (g grpcService) DeleteTaskPushNotificationConfig(ctx context.Context, in *a2apb.DeleteTaskPushNotificationConfigRequest) (*emptypb.Empty, error) {
	return answerGRPC(ctx, g.host, "DeleteTaskPushNotificationConfig", in, params.DeletePush, deletePush, encodeNone, new(emptypb.Empty))
}

func (g grpcService) GetExtendedAgentCard(ctx context.Context, in *a2apb.GetExtendedAgentCardRequest) (*a2apb.AgentCard, error) {
	return answerGRPC(ctx, g.host, "GetExtendedAgentCard", in, params.ExtendedCard, service.GetExtendedAgentCard, transport.encodeCard, new(a2apb.AgentCard))
}
