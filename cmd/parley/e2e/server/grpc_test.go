package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"

	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"github.com/google/uuid"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"parley/cmd/parley/e2e/helpers/e2etest"
)

// grpcClient connects to an address.
func grpcClient(t *testing.T, address string) a2apb.A2AServiceClient {
	t.Helper()
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return a2apb.NewA2AServiceClient(conn)
}

func withToken(t *testing.T, token string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
}

// aQuestion is one about the shop, for an agent.
func aQuestion(agent string) *a2apb.SendMessageRequest {
	return &a2apb.SendMessageRequest{Tenant: agent + "/alice/shop", Message: &a2apb.Message{
		MessageId: uuid.NewString(), Role: a2apb.Role_ROLE_USER, Parts: []*a2apb.Part{{Content: &a2apb.Part_Text{Text: "How many orders are there?"}}},
	}}
}

// TestGRPCListen has gRPC at an address of its own.
func TestGRPCListen(t *testing.T) {
	t.Parallel()
	p := e2etest.Serve(t, t.TempDir(), []string{e2etest.Limits(e2etest.Object{"MaxBody": 65535, "MaxAttachment": 1})}, "--grpc-listen", "127.0.0.1:0")
	ctx := withToken(t, p.Token("alice"))
	for _, address := range []string{p.GRPCAddress(), strings.TrimPrefix(p.URL, "http://")} {
		client := grpcClient(t, address)
		if _, err := client.ListTasks(ctx, &a2apb.ListTasksRequest{Tenant: "nl2ql"}); err != nil {
			t.Errorf("list at %s: %v", address, err)
		}
		card, err := client.GetExtendedAgentCard(ctx, &a2apb.GetExtendedAgentCardRequest{Tenant: "nl2ql"})
		if err != nil || card.GetSupportedInterfaces()[0].GetUrl() != p.URL+"/api/v1/a2a/nl2ql" || card.GetSupportedInterfaces()[2].GetUrl() != strings.TrimPrefix(p.URL, "http://") {
			t.Errorf("the card at %s: %v, %v", address, card.GetSupportedInterfaces(), err)
		}
		for name, refused := range map[string]struct {
			ctx  context.Context
			id   string
			code codes.Code
		}{
			"no token":    {t.Context(), "x", codes.Unauthenticated},
			"a bad token": {withToken(t, "nobody"), "x", codes.Unauthenticated},
			"too large":   {ctx, strings.Repeat("x", 65537), codes.ResourceExhausted},
			"no task":     {ctx, "x", codes.NotFound},
		} {
			if _, err := client.GetTask(refused.ctx, &a2apb.GetTaskRequest{Id: refused.id}); status.Code(err) != refused.code {
				t.Errorf("%s at %s: %v", name, address, err)
			}
		}
	}
	response, err := http.Get("http://" + p.GRPCAddress() + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil || response.StatusCode != http.StatusNotFound || string(text) != "this address is for gRPC\n" {
		t.Errorf("plain HTTP: %d %s, %v", response.StatusCode, text, err)
	}
	// And a request of HTTP/1 to the path of gRPC is one to nothing.
	if status, text := p.Call(p.Token("alice"), "POST", "/lf.a2a.v1.A2AService/GetTask", "{}"); status != http.StatusNotFound {
		t.Errorf("by HTTP/1: %d %s", status, text)
	}
}

// TestGRPCEnds has streams end with the token of their caller, and with the server.
func TestGRPCEnds(t *testing.T) {
	t.Parallel()
	c := e2etest.Shop(t, "--drain-timeout", "100ms")
	client := grpcClient(t, strings.TrimPrefix(c.URL, "http://"))
	c.Hold()
	begin := func(token string) grpc.ServerStreamingClient[a2apb.StreamResponse] {
		stream, err := client.SendStreamingMessage(withToken(t, token), aQuestion("nl2ql"))
		if err == nil {
			_, err = stream.Recv()
		}
		if err != nil {
			t.Fatal(err)
		}
		return stream
	}
	end := func(stream grpc.ServerStreamingClient[a2apb.StreamResponse]) error {
		for {
			if _, err := stream.Recv(); err != nil {
				return err
			}
		}
	}
	var own struct{ ID, Token string }
	if status := c.Ask("POST", "/user/token", e2etest.Object{"name": "orchestrator"}, &own); status != http.StatusOK {
		t.Fatal(status)
	}
	stream := begin(own.Token)
	if status := c.Ask("DELETE", "/user/token/"+own.ID, nil, nil); status != http.StatusOK {
		t.Fatal(status)
	}
	if err := end(stream); status.Code(err) != codes.Unauthenticated || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("with its token: %v", err)
	}
	stream = begin(c.Token)
	c.Signal(syscall.SIGTERM)
	if err := end(stream); status.Code(err) != codes.Unavailable {
		t.Errorf("with the server: %v", err)
	}
	if code := c.Wait(); code != e2etest.ExitOK {
		t.Errorf("exit code %d", code)
	}
}
