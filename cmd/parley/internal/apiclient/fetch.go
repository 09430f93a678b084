package apiclient

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// maxDocument is the largest public document that is read.
const maxDocument = 1 << 20

// Fetch reads a document at an address, with a token or without. It follows no
// redirection: who asks must know whose word it is. An answer that says no is a
// *StatusError, none within a minute an *UnreachableError.
func Fetch(ctx context.Context, address, token string) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, callLimit, errSilent)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, unreachable(request, err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, unreachable(request, err)
	case len(text) > maxDocument:
		return nil, fmt.Errorf("the document at %s is larger than %d bytes", address, maxDocument)
	case response.StatusCode != http.StatusOK:
		return nil, refusal(response.StatusCode, response.Header, text)
	}
	return text, nil
}
