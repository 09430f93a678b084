package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	rpccode "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"

	"parley/internal/domain"
)

// TestToError has errors as each binding answers them. What is not meant for the client stays out.
func TestToError(t *testing.T) {
	t.Parallel()
	secret := errors.New("secret")
	for name, test := range map[string]struct {
		err     error
		code    int
		reason  string
		message string
		http    int
		grpc    rpccode.Code
	}{
		"unknown":              {secret, -32603, "INTERNAL_ERROR", internalMessage, 500, rpccode.Code_INTERNAL},
		"canceled":             {context.Canceled, -32603, "INTERNAL_ERROR", internalMessage, 500, rpccode.Code_INTERNAL},
		"a message of no kind": {a2a.NewError(secret, "words"), -32603, "INTERNAL_ERROR", internalMessage, 500, rpccode.Code_INTERNAL},
		"a cause": {fmt.Errorf("%w: %w", domain.ErrUnavailable, secret), -32603, "INTERNAL_ERROR",
			"something needed for this cannot be reached now; try again", 503, rpccode.Code_UNAVAILABLE},
		"too late":  {fmt.Errorf("ask: %w", context.DeadlineExceeded), -32603, "INTERNAL_ERROR", "this took too long; try again", 503, rpccode.Code_UNAVAILABLE},
		"too many":  {domain.Errorf(domain.ErrTooMany, "8 runs"), -32603, "RESOURCE_EXHAUSTED", "8 runs", 429, rpccode.Code_RESOURCE_EXHAUSTED},
		"conflict":  {domain.ErrConflict, -32603, "INTERNAL_ERROR", "another request changed this; try again", 500, rpccode.Code_INTERNAL},
		"not found": {fmt.Errorf("read: %w", domain.ErrNotFound), -32001, "TASK_NOT_FOUND", "task not found", 404, rpccode.Code_NOT_FOUND},
		"the protocol before its cause": {a2a.NewError(fmt.Errorf("%w: %w", a2a.ErrInvalidParams, domain.ErrNotFound), "no namespace"),
			-32602, "INVALID_PARAMS", "no namespace", 400, rpccode.Code_INVALID_ARGUMENT},
		"not signed in": {domain.ErrUnauthorized, -31401, "UNAUTHENTICATED", "a valid bearer token is required", 401, rpccode.Code_UNAUTHENTICATED},
	} {
		got := ToError(test.err)
		info := got.Details()[0].(*errdetails.ErrorInfo)
		status, code := got.Status(test.err)
		if got.Code != test.code || info.GetReason() != test.reason || got.Message != test.message || status != test.http || code != test.grpc {
			t.Errorf("%s: %+v, %d, %s", name, got, status, code)
		}
	}
	for _, a := range answers {
		if status, code := ToError(a.kind).Status(a.kind); status == 0 || code == rpccode.Code_OK {
			t.Errorf("%s has no status in other bindings", a.reason)
		}
	}
}

func TestWrongFields(t *testing.T) {
	t.Parallel()
	violations := func(err error) []*errdetails.BadRequest_FieldViolation {
		details := ToError(err).Details()
		return details[len(details)-1].(*errdetails.BadRequest).GetFieldViolations()
	}
	var many []domain.FieldError
	for range maxFields + 1 {
		many = append(many, domain.FieldError{Field: strings.Repeat("ä", maxField), Message: "is unknown"})
	}
	got := violations(domain.Invalid(many...))
	if len(got) != maxFields || len(got[0].GetField()) > maxField+len("…") || got[0].GetDescription() != "is unknown" {
		t.Errorf("%d fields, the first %v", len(got), got[0])
	}
	if got := violations(a2a.ErrInvalidParams); len(got) != 1 || got[0].GetField() != "params" {
		t.Errorf("an error without fields: %v", got)
	}
}

// TestErrorBodies has the same error in JSON-RPC, in A2A 0.3 and in HTTP+JSON.
func TestErrorBodies(t *testing.T) {
	t.Parallel()
	failure := ToError(a2a.ErrTaskNotFound)
	const info = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"TASK_NOT_FOUND","domain":"a2a-protocol.org"}`
	_, body := failure.HTTP(nil)
	for got, want := range map[string]string{
		string(ErrorResponse(NullID, failure)):                       `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"task not found","data":[` + info + `]}}`,
		string(LegacyErrorResponse(json.RawMessage(`"<"`), failure)): `{"jsonrpc":"2.0","id":"<","error":{"code":-32001,"message":"task not found","data":` + info + `}}`,
		string(body):                             `{"error":{"code":404,"status":"NOT_FOUND","message":"task not found","details":[` + info + `]}}`,
		string(Refusal(http.StatusTeapot, "no")): `{"error":{"code":418,"status":"UNKNOWN","message":"no","details":[` + strings.Replace(info, "TASK_NOT_FOUND", "HTTP_418", 1) + `]}}`,
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
