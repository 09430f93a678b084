// Package objects keeps bytes under keys: the files that people upload, part by
// part and straight to the store, and the files that Parley makes of them.
//
// There is one interface, Store, and two homes for it: a Folder on disk, and an S3
// bucket. Both keep an object whole or not at all.
//
// Who may have which object, sessions of uploads and the words of HTTP answers are
// left to others.
package objects

import (
	"context"
	"io"
	"iter"
	"time"

	"parley/storage"
)

// MaxParts is the most parts that an upload can have.
const MaxParts = storage.MaxParts

// Store keeps objects.
//
// Keys are what CheckKey allows, else ErrInvalid; no key may continue another one
// after a slash. What is missing is storage.ErrNotFound, and a home that cannot be
// reached, is full or fails is storage.ErrUnavailable, wrapping the cause.
type Store interface {
	// Begin starts an upload to a key that is used for nothing else, so that a
	// Complete can be told from another's.
	Begin(ctx context.Context, key string) (Upload, error)
	// PartURL gives an address to which a user's client can PUT one part of exactly
	// size bytes, again and again, until ttl has passed; the last one sent counts. It
	// does not look whether the upload is there. The answer carries the ETag that
	// Complete asks for.
	PartURL(ctx context.Context, user string, upload Upload, number int, size int64, ttl time.Duration) (string, error)
	// Stored gives the parts of the plan that have come in, by number. One that is
	// not of the plan's size is left out: it is to be sent again. Where there is no
	// such upload any more, it is ErrNotFound.
	Stored(ctx context.Context, upload Upload, plan Plan) ([]Part, error)
	// Complete makes the parts, which must be those of the plan, an object. When
	// some are missing, doubled or wrong it is an ErrInvalid that names them, and
	// nothing changes. Done again with the same parts, it gives the same answer for
	// as long as the home remembers; then, and where there is no such upload, it is
	// ErrNotFound.
	Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) (Object, error)
	// Abort ends an upload and removes its parts. It is no error when there is no
	// such upload. An object that Complete has made stays.
	Abort(ctx context.Context, upload Upload) error

	// PutFile keeps a copy of the local file at path, in place of what was there.
	PutFile(ctx context.Context, key, path string) (Object, error)
	// Open gives an object's bytes, which deleting or replacing it does not change
	// while they are read.
	Open(ctx context.Context, key string) (io.ReadCloser, Object, error)
	// Fetch copies an object to the local file at path, which afterwards is whole,
	// or as it was before.
	Fetch(ctx context.Context, key, path string) error
	// Delete removes an object. It is no error when there is none.
	Delete(ctx context.Context, key string) error
	// List gives the objects whose keys begin with prefix, by key, byte by byte. It
	// ends with its first error.
	List(ctx context.Context, prefix string) iter.Seq2[Object, error]

	// Sweep removes what unfinished uploads and writes have left that were begun,
	// or last touched where the home knows, before the given time. It returns how
	// many.
	Sweep(ctx context.Context, before time.Time) (int, error)
	// Ping reports whether the home can be reached.
	Ping(ctx context.Context) error
	// Bucket names the home, and Name what a key is called in it.
	Bucket() string
	Name(key string) string
}

// What is kept, and how it is sent, in the words of storage.
type (
	// Upload addresses an upload that was begun.
	Upload = storage.ObjectUpload
	// Part names a part as its sender got it.
	Part = storage.SentPart
	// Object is an object without its bytes. Complete always gives the ETag, a
	// Folder nobody else.
	Object = storage.Object
	// Plan says how a file is cut into parts.
	Plan = storage.PartPlan
)
