// Package objects stores bytes under keys: the files that users upload in parts, and
// the files that Parley makes of them.
//
// Store has two implementations: Folder, on disk, and S3, in a bucket. Both store an
// object completely or not at all. Cache holds local copies of objects in a bucket.
//
// Access rights, upload sessions and the texts of HTTP answers are left to others.
package objects

import (
	"context"
	"io"
	"time"

	"parley/storage"
)

// MaxParts is the most parts that an upload can have.
const MaxParts = storage.MaxParts

// Store holds objects.
//
// A key that CheckKey refuses is ErrInvalid; no key may continue another one after a
// slash. What is missing is storage.ErrNotFound. A store that cannot be reached, is full
// or fails is storage.ErrUnavailable, which wraps the cause.
type Store interface {
	// Begin starts an upload. The key must be used for nothing else, so that a
	// Complete can be told from another's.
	Begin(ctx context.Context, key string) (Upload, error)
	// PartURL gives an address to which a client can PUT one part of exactly size
	// bytes, also repeatedly, until ttl has passed; the last one sent counts. It does not
	// check that the upload exists. The answer has the ETag that Complete needs.
	PartURL(ctx context.Context, user string, upload Upload, number int, size int64, ttl time.Duration) (string, error)
	// Stored gives the received parts of the plan, by number, without those of a wrong
	// size. An upload that has ended is ErrNotFound.
	Stored(ctx context.Context, upload Upload, plan Plan) ([]Part, error)
	// Complete makes an object of the parts, which must be those of the plan. Parts that
	// are missing, doubled or wrong are named by an ErrInvalid, and nothing changes.
	// It can be repeated with the same parts for as long as the store remembers the
	// upload; after that, and for an unknown upload, it is ErrNotFound.
	Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) error
	// Abort ends an upload, if it exists, and removes its parts. A completed object
	// stays.
	Abort(ctx context.Context, upload Upload) error

	// PutFile stores a copy of a local file. It replaces an existing object.
	PutFile(ctx context.Context, key, path string) error
	// Open gives an object's bytes and their number. Deleting or replacing the object
	// does not change them.
	Open(ctx context.Context, key string) (body io.ReadCloser, size int64, err error)
	// Delete removes an object, if it exists.
	Delete(ctx context.Context, key string) error

	// Sweep removes unfinished uploads and writes that started before the given time,
	// or were last changed then where the store knows. It returns their number.
	Sweep(ctx context.Context, before time.Time) (int, error)
	// Ping reports whether the store is available.
	Ping(ctx context.Context) error
	// Bucket names the store, and Name a key in it.
	Bucket() string
	Name(key string) string
}

// The types of storage under shorter names.
type (
	// Upload identifies an upload.
	Upload = storage.ObjectUpload
	// Part names a part with the ETag that its sender got.
	Part = storage.SentPart
	// Plan says how a file is cut into parts.
	Plan = storage.PartPlan
)
