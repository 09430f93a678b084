// Package baseurl carries the public address of the interface, up to and with
// /api/v1, from the request that came in on it to whoever makes addresses.
package baseurl

import "context"

// Root is the path under which the interface lives.
const Root = "/api/v1"

type key struct{}

// With gives a context that knows the address.
func With(ctx context.Context, url string) context.Context {
	return context.WithValue(ctx, key{}, url)
}

// From gives the address, "" when the context knows none.
func From(ctx context.Context) string {
	url, _ := ctx.Value(key{}).(string)
	return url
}
