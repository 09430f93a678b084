package jsonrpc

import (
	"net/http"
	"strconv"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/errordetails"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/protobuf/protoadapt"

	"parley/internal/jsontext"
)

// statuses has the errors of JSON-RPC, by their codes, as HTTP+JSON and gRPC have them:
// section 5.4 of the specification.
var statuses = map[int]struct {
	http int
	grpc rpccode.Code
}{
	-32700:       {http.StatusBadRequest, rpccode.Code_INVALID_ARGUMENT},
	-32600:       {http.StatusBadRequest, rpccode.Code_INVALID_ARGUMENT},
	-32601:       {http.StatusNotFound, rpccode.Code_UNIMPLEMENTED},
	-32602:       {http.StatusBadRequest, rpccode.Code_INVALID_ARGUMENT},
	CodeInternal: {http.StatusInternalServerError, rpccode.Code_INTERNAL},
	-32001:       {http.StatusNotFound, rpccode.Code_NOT_FOUND},
	-32002:       {http.StatusBadRequest, rpccode.Code_FAILED_PRECONDITION},
	-32003:       {http.StatusBadRequest, rpccode.Code_FAILED_PRECONDITION},
	-32004:       {http.StatusBadRequest, rpccode.Code_FAILED_PRECONDITION},
	-32005:       {http.StatusBadRequest, rpccode.Code_INVALID_ARGUMENT},
	-32006:       {http.StatusInternalServerError, rpccode.Code_INTERNAL},
	-32007:       {http.StatusBadRequest, rpccode.Code_FAILED_PRECONDITION},
	-32008:       {http.StatusBadRequest, rpccode.Code_FAILED_PRECONDITION},
	-32009:       {http.StatusBadRequest, rpccode.Code_FAILED_PRECONDITION},
	-31401:       {http.StatusUnauthorized, rpccode.Code_UNAUTHENTICATED},
	-31403:       {http.StatusForbidden, rpccode.Code_PERMISSION_DENIED},
}

// Status returns the status of an error in HTTP+JSON and gRPC. err is the error that it answers:
// JSON-RPC has no code of its own for overload.
func (e *Error) Status(err error) (int, rpccode.Code) {
	if e.Code == CodeInternal {
		switch status := HTTPStatus(err); status {
		case http.StatusTooManyRequests:
			return status, rpccode.Code_RESOURCE_EXHAUSTED
		case http.StatusServiceUnavailable:
			return status, rpccode.Code_UNAVAILABLE
		}
	}
	status := statuses[e.Code]
	return status.http, status.grpc
}

// errorStatus is the body of an error in HTTP+JSON, a google.rpc.Status as AIP-193 has it.
type errorStatus struct {
	Error struct {
		Code    int    `json:"code"`
		Status  string `json:"status"`
		Message string `json:"message"`
		Details any    `json:"details"`
	} `json:"error"`
}

func newStatus(code int, name rpccode.Code, message string, details any) []byte {
	var body errorStatus
	body.Error.Code, body.Error.Status = code, name.String()
	body.Error.Message, body.Error.Details = message, details
	text, _ := jsontext.Marshal(body) // strings and a number always encode
	return text
}

// HTTP returns the status of an error in HTTP+JSON, and its body.
func (e *Error) HTTP(err error) (int, []byte) {
	code, name := e.Status(err)
	return code, newStatus(code, name, e.Message, e.Data)
}

// refusals has the statuses of HTTP of requests that no agent has seen.
var refusals = map[int]struct {
	grpc   rpccode.Code
	reason string
}{
	http.StatusUnauthorized:          {rpccode.Code_UNAUTHENTICATED, "UNAUTHENTICATED"},
	http.StatusForbidden:             {rpccode.Code_PERMISSION_DENIED, "UNAUTHORIZED"},
	http.StatusNotFound:              {rpccode.Code_NOT_FOUND, "METHOD_NOT_FOUND"},
	http.StatusUnsupportedMediaType:  {rpccode.Code_INVALID_ARGUMENT, "INVALID_REQUEST"},
	http.StatusTooManyRequests:       {rpccode.Code_RESOURCE_EXHAUSTED, "RESOURCE_EXHAUSTED"},
	http.StatusInternalServerError:   {rpccode.Code_INTERNAL, "INTERNAL_ERROR"},
	http.StatusServiceUnavailable:    {rpccode.Code_UNAVAILABLE, "INTERNAL_ERROR"},
	http.StatusBadRequest:            {rpccode.Code_INVALID_ARGUMENT, "INVALID_REQUEST"},
	http.StatusRequestEntityTooLarge: {rpccode.Code_INVALID_ARGUMENT, "INVALID_REQUEST"},
}

// Refusal returns the body of an error in HTTP+JSON for a request that no agent has seen.
func Refusal(status int, message string) []byte {
	known, ok := refusals[status]
	if !ok {
		known.grpc, known.reason = rpccode.Code_UNKNOWN, "HTTP_"+strconv.Itoa(status)
	}
	info := errorInfo{Type: errordetails.ErrorInfoType, Reason: known.reason, Domain: a2a.ProtocolDomain}
	return newStatus(status, known.grpc, message, []any{info})
}

// Details returns the details of an error as messages of gRPC.
func (e *Error) Details() (details []protoadapt.MessageV1) {
	for _, data := range e.Data {
		switch d := data.(type) {
		case errorInfo:
			details = append(details, &errdetails.ErrorInfo{Reason: d.Reason, Domain: d.Domain, Metadata: d.Metadata})
		case badRequest:
			wrong := &errdetails.BadRequest{}
			for _, v := range d.FieldViolations {
				wrong.FieldViolations = append(wrong.FieldViolations, &errdetails.BadRequest_FieldViolation{Field: v.Field, Description: v.Description})
			}
			details = append(details, wrong)
		}
	}
	return details
}
