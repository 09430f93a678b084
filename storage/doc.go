// Package storage is the vocabulary that every part of Parley shares: what a
// dataset, a grant, a conversation, a run and a token are, the rules that hold
// for them, the errors that speak of them, and the small interfaces through
// which they are kept.
//
// It knows nothing of HTTP, A2A or SQL. The packages below it keep the things
// that it names: sqlstore keeps records, objects bytes, lake rows.
package storage
