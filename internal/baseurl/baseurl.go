// Package baseurl passes on the public address of the interface, up to and with /api/v1,
// from a request to the code that makes addresses.
package baseurl

import "context"

// Root is the path of the interface.
const Root = "/api/v1"

type key struct{}

type address struct {
	url        string
	configured bool
}

// With gives a context with the address. It is configured, or from the client's request.
func With(ctx context.Context, url string, configured bool) context.Context {
	return context.WithValue(ctx, key{}, address{url, configured})
}

// From gives the address, "" for none.
func From(ctx context.Context) string {
	known, _ := ctx.Value(key{}).(address)
	return known.url
}

// Configured reports whether the address is the same whatever the client sends.
func Configured(ctx context.Context) bool {
	known, _ := ctx.Value(key{}).(address)
	return known.configured
}
