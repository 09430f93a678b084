package a2aserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"slices"
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
		grpc.StreamInterceptor(func(service any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
			defer h.recoverGRPC(stream.Context(), &err)
			return handle(service, requestStream{stream, h})
		}),
	)
	methods := a2apb.A2AService_ServiceDesc
	methods.Methods, methods.Streams = nil, slices.Clone(methods.Streams)
	for _, unary := range a2apb.A2AService_ServiceDesc.Methods {
		// A unary method would ignore further messages, a stream of one response refuses them.
		methods.Streams = append(methods.Streams, grpc.StreamDesc{StreamName: unary.MethodName, ServerStreams: true, Handler: func(service any, stream grpc.ServerStream) error {
			out, err := unary.Handler(service, stream.Context(), stream.RecvMsg, nil)
			if err != nil {
				return err
			}
			return stream.SendMsg(out)
		}})
	}
	server.RegisterService(&methods, grpcService{host: h})
	return server
}

// requestStream reads the request of a stream as readGRPC does.
type requestStream struct {
	grpc.ServerStream
	host *Host
}

// RecvMsg implements grpc.ServerStream.
func (s requestStream) RecvMsg(into any) error {
	return s.host.readGRPC(s.Context(), into, s.ServerStream.RecvMsg)
}

// request is a message to read, and the error of reading it.
type request struct {
	into any
	err  error
}

// readGRPC reads a message. gRPC would answer an error of the codec as an internal one, with
// its text.
func (h *Host) readGRPC(ctx context.Context, into any, decode func(any) error) error {
	in := request{into: into}
	if err := decode(&in); err != nil || in.err == nil {
		return err
	}
	if who, _ := ctx.Value(grpcCallerKey{}).(grpcCaller); who.refused != nil {
		in.err = who.refused
	}
	return transport{Config: &h.cfg}.grpcError(ctx, "", in.err)
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

// recoverGRPC answers a panic, which would end the process: gRPC calls methods in
// goroutines of its own.
func (h *Host) recoverGRPC(ctx context.Context, err *error) {
	if cause := recover(); cause != nil {
		t := transport{Config: &h.cfg}
		*err = t.grpcError(ctx, "", fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
	}
}

// grpcCall is a call that was read.
type grpcCall struct {
	transport
	method string
	stop   func()
}

// begin returns the context of a call, and the agent that it is for, whose name it takes
// out of the request's tenant.
func (h *Host) begin(ctx context.Context, method string, in proto.Message) (context.Context, *grpcCall, error) {
	who, _ := ctx.Value(grpcCallerKey{}).(grpcCaller)
	call := &grpcCall{transport: transport{Config: &h.cfg}, method: method, stop: func() {}}
	if who.refused != nil {
		return ctx, call, who.refused
	}
	ctx, call.stop = who.session.Context(auth.WithCaller(ctx, who.session.Caller))
	_, err := readVersion(metadataOf(ctx, a2a.SvcParamVersion), protocolVersion)
	if err != nil {
		return ctx, call, err
	}
	agent, err := h.agentOf(ctx, in)
	if err != nil {
		return ctx, call, err
	}
	call.agent = agent
	if activated := agent.activated(ctx, metadata.ValueFromIncomingContext(ctx, a2a.SvcParamExtensions)); activated != "" {
		err = grpc.SetHeader(ctx, metadata.Pairs(a2a.SvcParamExtensions, activated))
	}
	return ctx, call, err
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

// answerGRPC answers a unary call by the functions that JSON-RPC has for its method.
func answerGRPC[I proto.Message, P, R any, O proto.Message](
	ctx context.Context, h *Host, method string, in I,
	convert func(in I) P,
	call func(agent service, ctx context.Context, params P) (R, error),
	encode func(t transport, result R) ([]byte, error),
	out O,
) (O, error) {
	ctx, c, err := h.begin(ctx, method, in)
	defer c.stop()
	if err == nil && method != "SendMessage" && method != "CancelTask" { // see immediate
		var release func()
		if release, err = c.shortSlot(ctx); err == nil {
			defer release()
		}
	}
	var result R
	if err == nil {
		result, err = call(c.agent, ctx, convert(in))
	}
	var text []byte
	if err == nil {
		text, err = encode(c.transport, result)
	}
	if err == nil {
		err = fromJSON(text, out)
	}
	if err != nil {
		var none O
		return none, c.grpcError(ctx, method, err)
	}
	return out, nil
}

func streamGRPC(
	h *Host, method string, in proto.Message, stream grpc.ServerStreamingServer[a2apb.StreamResponse],
	open func(ctx context.Context, agent service) (subscription, error),
) error {
	ctx, c, err := h.begin(stream.Context(), method, in)
	defer c.stop()
	if err != nil {
		return c.grpcError(ctx, method, err)
	}
	events, err := open(ctx, c.agent)
	if err != nil {
		return c.grpcError(ctx, method, err)
	}
	defer events.close()
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
			return c.grpcError(ctx, method, err)
		}
		if err := stream.Send(response); err != nil {
			return err // the client is gone
		}
	}
}
