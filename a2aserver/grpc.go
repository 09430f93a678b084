package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	a2apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	grpcproto "google.golang.org/grpc/encoding/proto"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"parley/a2aserver/jsonrpc"
	"parley/a2aserver/params"
	"parley/internal/auth"
)

const (
	// agentKey is the metadata that names the agent of a call. Its tenant may, too.
	agentKey = "a2a-agent"
	// defaultMaxMessage limits a request of gRPC where nothing is set, in bytes.
	defaultMaxMessage = 4 << 20
)

// ServeGRPC answers a call of A2A's gRPC service, which came over HTTP/2. refused says why
// there is no session, which is then the answer. The request's context must not end with
// the session: gRPC answers nothing once it has.
func (h *Host) ServeGRPC(w http.ResponseWriter, r *http.Request, session auth.Session, refused error) {
	if compression := r.Header.Get("Grpc-Encoding"); compression != "" && compression != "identity" {
		// A few bytes could become many in memory, before the limits of large bodies see them.
		header := w.Header()
		header.Set("Content-Type", "application/grpc")
		header.Set("Grpc-Accept-Encoding", "identity")
		header.Set("Grpc-Status", strconv.Itoa(int(codes.Unimplemented)))
		header.Set("Grpc-Message", "compressed requests are not supported; send them without grpc-encoding")
		return
	}
	ctx, memory := h.cfg.withReservation(r.Context())
	memory.untilEnd = true // gRPC sends what it was given later
	defer memory.release()
	h.grpc.ServeHTTP(w, r.WithContext(context.WithValue(ctx, grpcCallerKey{}, grpcCaller{session, refused})))
}

type grpcCallerKey struct{}

// grpcCaller is who makes a call, or why that is not known.
type grpcCaller struct {
	session auth.Session
	refused error
}

func (h *Host) newGRPC() *grpc.Server {
	server := grpc.NewServer(
		grpc.MaxRecvMsgSize(cmp.Or(h.cfg.MaxMessage, defaultMaxMessage)),
		grpc.ForceServerCodecV2(requestCodec{encoding.GetCodecV2(grpcproto.Name), &h.cfg}),
	)
	// The SDK's service is not used: it shows the text of internal errors, and drops metadata
	// of requests and negative numbers, which the host would refuse.
	service := grpc.ServiceDesc{ServiceName: a2apb.A2AService_ServiceDesc.ServiceName, HandlerType: (*any)(nil), Metadata: a2apb.A2AService_ServiceDesc.Metadata}
	for name := range rpcMethods {
		// A unary method would ignore further messages, a stream of one response refuses them.
		service.Streams = append(service.Streams, grpc.StreamDesc{StreamName: name, ServerStreams: true, Handler: func(_ any, stream grpc.ServerStream) error {
			return h.answerGRPC(name, stream)
		}})
	}
	server.RegisterService(&service, h)
	return server
}

// request is a message to read, and the error of reading it: gRPC would answer an error of the
// codec as an internal one, with its text.
type request struct {
	into any
	err  error
}

// answerGRPC reads the request of a call and answers it. A panic would end the process: gRPC calls
// methods in goroutines of its own.
func (h *Host) answerGRPC(name string, stream grpc.ServerStream) (err error) {
	ctx, t := stream.Context(), transport{Config: &h.cfg}
	defer func() {
		if cause := recover(); cause != nil {
			err = t.grpcError(ctx, "", fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	in := request{into: rpcMethods[name].params()}
	if err := stream.RecvMsg(&in); err != nil {
		return err
	}
	if in.err != nil {
		if who, _ := ctx.Value(grpcCallerKey{}).(grpcCaller); who.refused != nil {
			in.err = who.refused
		}
		return t.grpcError(ctx, "", in.err)
	}
	return h.callGRPC(ctx, name, in.into.(proto.Message), stream)
}

// requestCodec reads requests that are not too large without their files.
type requestCodec struct {
	encoding.CodecV2
	cfg *Config
}

// Unmarshal implements encoding.CodecV2 for a request.
func (c requestCodec) Unmarshal(data mem.BufferSlice, in any) error {
	request := in.(*request)
	request.err = c.cfg.checkStructure(data.Len(), func() int {
		if _, ok := request.into.(*a2apb.SendMessageRequest); ok {
			return params.StructureOfMessage(data.Materialize())
		}
		return data.Len()
	})
	if request.err == nil && c.CodecV2.Unmarshal(data, request.into) != nil {
		request.err = invalidParams("the message is not the one of this method, or its texts are not UTF-8")
	}
	return nil
}

// begin returns the context of a call, which stop ends, and the agent that it is for, whose name
// it takes out of the request's tenant.
func (h *Host) begin(ctx context.Context, in proto.Message) (_ context.Context, t transport, stop func(), err error) {
	who, _ := ctx.Value(grpcCallerKey{}).(grpcCaller)
	t, stop = transport{Config: &h.cfg}, func() {}
	if who.refused != nil {
		return ctx, t, stop, who.refused
	}
	ctx, stop = who.session.Context(auth.WithCaller(ctx, who.session.Caller))
	if _, err := readVersion(metadataOf(ctx, a2a.SvcParamVersion), protocolVersion); err != nil {
		return ctx, t, stop, err
	}
	agent, err := h.agentOf(ctx, in)
	if err != nil {
		return ctx, t, stop, err
	}
	t.agent = agent
	if activated := agent.activated(ctx, metadata.ValueFromIncomingContext(ctx, a2a.SvcParamExtensions)); activated != "" {
		err = grpc.SetHeader(ctx, metadata.Pairs(a2a.SvcParamExtensions, activated))
	}
	return ctx, t, stop, err
}

// agentOf returns the agent of a request: its metadata names it, or the first segment of its
// tenant, or it is the default one. What is left of the tenant is the agent's.
func (h *Host) agentOf(ctx context.Context, in proto.Message) (*agentService, error) {
	message := in.ProtoReflect()
	field := message.Descriptor().Fields().ByName("tenant")
	first, rest, _ := strings.Cut(message.Get(field).String(), "/")
	name := metadataOf(ctx, agentKey)
	if name == "" {
		if name = h.cfg.DefaultAgent; h.services[first] != nil {
			name = first
		}
	}
	s, ok := h.services[name]
	if !ok {
		return nil, invalidParams("tenant must name an agent, or the metadata %s", agentKey)
	}
	if first == name {
		message.Set(field, protoreflect.ValueOfString(rest))
	}
	return s, nil
}

// metadataOf returns the first value of a call's metadata; "" for none.
func metadataOf(ctx context.Context, key string) string {
	if values := metadata.ValueFromIncomingContext(ctx, key); len(values) > 0 {
		return values[0]
	}
	return ""
}

// grpcError returns an error as gRPC has it, and logs internal ones.
func (t transport) grpcError(ctx context.Context, method string, err error) error {
	if errors.Is(err, errStopping) {
		return status.Error(codes.Unavailable, "the server is stopping; try again")
	}
	failure := t.fail(ctx, jsonrpc.Request{Method: method}, err)
	_, code := failure.Status(err)
	answer := status.New(codes.Code(code), failure.Message)
	if detailed, err := answer.WithDetails(failure.Details()...); err == nil {
		answer = detailed
	}
	return answer.Err()
}

// fromJSON reads what other bindings send: results and events are proto3-JSON.
func fromJSON(text []byte, into proto.Message) error {
	if err := (protojson.UnmarshalOptions{DiscardUnknown: true}).Unmarshal(text, into); err != nil {
		return fmt.Errorf("write %s: %w", into.ProtoReflect().Descriptor().Name(), err)
	}
	return nil
}

// callGRPC answers a call by the functions that JSON-RPC has for its method.
func (h *Host) callGRPC(ctx context.Context, name string, in proto.Message, stream grpc.ServerStream) error {
	m := rpcMethods[name]
	ctx, t, stop, err := h.begin(ctx, in)
	defer stop()
	if list, ok := in.(*a2apb.ListTasksRequest); ok && list.GetPageSize() == 0 {
		list.PageSize = nil // clients of a2a-go send 0 for none
	}
	if err == nil && m.open != nil {
		var events subscription
		if events, err = m.open(ctx, t.agent, in, ""); err == nil {
			defer events.close()
			return t.streamGRPC(ctx, name, events, stream)
		}
	}
	if err == nil {
		var text []byte
		text, err = m.call(ctx, t, func() (any, error) { return in, nil })
		output := a2apb.File_a2av1_proto.Services().ByName("A2AService").Methods().ByName(protoreflect.Name(name)).Output()
		if kind, _ := protoregistry.GlobalTypes.FindMessageByName(output.FullName()); err == nil {
			out := kind.New().Interface()
			if err = fromJSON(text, out); err == nil {
				return stream.SendMsg(out)
			}
		}
	}
	return t.grpcError(ctx, name, err)
}

func (t transport) streamGRPC(ctx context.Context, method string, events subscription, stream grpc.ServerStream) error {
	if err := stream.SendHeader(nil); err != nil {
		return err // the client is gone
	}
	for {
		event, err := events.next(ctx, nil)
		if err == io.EOF { // not a wrapped one, such as a lost connection
			return nil
		}
		response := new(a2apb.StreamResponse)
		if err == nil {
			err = fromJSON(event.Body, response)
		}
		if err != nil {
			return t.grpcError(ctx, method, err)
		}
		if err := stream.SendMsg(response); err != nil {
			return err // the client is gone
		}
	}
}
