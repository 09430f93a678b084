// Package auth tells who is calling: it verifies the bearer token of a request
// and gives the user that it speaks for.
//
// Tokens come from one authority, set by configuration: an identity provider,
// whose published keys are fetched and kept fresh; a secret shared with whoever
// signs; or a local key in the data folder. Besides these, users' own tokens are
// known in every mode. Each kind has its own fixed algorithms and keys: nothing
// that a token says about itself widens what is accepted.
//
// What a user may do is decided in the store. Keeping users' own tokens is the
// store's work too, and answering a failure is that of the packages that serve
// HTTP: here a failure is an error whose storage.Error holds the words for the
// client.
package auth
