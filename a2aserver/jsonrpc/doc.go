// Package jsonrpc reads JSON-RPC requests, and writes responses and errors as A2A has them.
// One table says how each kind of error is answered. The other bindings answer the same
// errors, in their own forms.
//
// What methods there are, and what they do, is left to the caller.
package jsonrpc
