// Package baseurl finds the public address of the interface, up to and with /api/v1, that a
// request came in on, and passes it on to the code that makes addresses.
package baseurl

import "context"

// Root is the path of the interface.
const Root = "/api/v1"

type key struct{}

// known is the address of a request.
type known struct {
	url                  string
	configured, attested bool
}

// With returns a context with the address. It is configured, or from the client's request.
func With(ctx context.Context, url string, configured bool) context.Context {
	return context.WithValue(ctx, key{}, known{url, configured, configured})
}

// WithAttested returns a context with an address that no client can have chosen, see
// [Proxies.Of].
func WithAttested(ctx context.Context, url string) context.Context {
	return context.WithValue(ctx, key{}, known{url: url, attested: true})
}

// From returns the address, "" for none.
func From(ctx context.Context) string { return of(ctx).url }

// Configured reports whether the address is the same whatever the client sends.
func Configured(ctx context.Context) bool { return of(ctx).configured }

// Attested reports whether the address is the server's: configured, told by a trusted proxy
// or the one that the connection came in on. Any other is what a client has put into its
// request, and nothing may be signed for it.
func Attested(ctx context.Context) bool { return of(ctx).attested }

func of(ctx context.Context) known {
	found, _ := ctx.Value(key{}).(known)
	return found
}
