// Package baseurl carries the public address of the interface, up to and with
// /api/v1, from the request that came in on it to whoever makes addresses.
package baseurl

import "context"

// Root is the path under which the interface lives.
const Root = "/api/v1"

type key struct{}

type address struct {
	url        string
	configured bool
}

// With gives a context that knows the address, and whether it is the configured
// one rather than one that the client named.
func With(ctx context.Context, url string, configured bool) context.Context {
	return context.WithValue(ctx, key{}, address{url, configured})
}

// From gives the address, "" when the context knows none.
func From(ctx context.Context) string {
	known, _ := ctx.Value(key{}).(address)
	return known.url
}

// Configured reports whether the address is the same whatever the client sends.
func Configured(ctx context.Context) bool {
	known, _ := ctx.Value(key{}).(address)
	return known.configured
}
