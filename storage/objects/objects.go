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
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"

	"parley/internal/domain"
)

// Store holds objects.
//
// A key that CheckKey refuses is ErrInvalid; no key may continue another one after a
// slash. What is missing is domain.ErrNotFound. A store that cannot be reached, is full
// or fails is domain.ErrUnavailable, which wraps the cause.
type Store interface {
	// Begin starts an upload. The key must be used for nothing else.
	Begin(ctx context.Context, key string) (Upload, error)
	// PartURL returns an address for PUT requests with one part of exactly size bytes,
	// until ttl has passed; the last one sent counts. It does not check that the upload
	// exists. The answer to PUT has the ETag that Complete needs.
	PartURL(ctx context.Context, user string, upload Upload, number int, size int64, ttl time.Duration) (string, error)
	// Stored returns the received parts of the plan, by number, without those of a wrong
	// size. An upload that has ended is ErrNotFound.
	Stored(ctx context.Context, upload Upload, plan Plan) ([]Part, error)
	// Complete makes an object of the parts of the plan. ErrInvalid names parts that are
	// missing, doubled or wrong. It can be repeated with the same parts while the store
	// remembers the upload; an unknown upload is ErrNotFound.
	Complete(ctx context.Context, upload Upload, plan Plan, parts []Part) error
	// Abort ends an upload, if it exists, and removes its parts, not its object.
	Abort(ctx context.Context, upload Upload) error

	// PutFile stores a copy of a local file. It replaces an existing object.
	PutFile(ctx context.Context, key, path string) error
	// Open returns an object's bytes and their number. Deleting or replacing the object
	// does not change them.
	Open(ctx context.Context, key string) (body io.ReadCloser, size int64, err error)
	// ReadStart returns the first n bytes of an object, or all if it has fewer, and the number
	// of all. It transfers no other bytes.
	ReadStart(ctx context.Context, key string, n int) (start []byte, size int64, err error)
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

type (
	// Upload identifies an upload.
	Upload = domain.ObjectUpload
	// Part names a part with the ETag that its sender got.
	Part = domain.SentPart
	// Plan says how a file is cut into parts.
	Plan = domain.PartPlan
)

// failed makes ErrUnavailable of an error, unless the context has ended, and says what was
// attempted. It passes on nil and errors that are classified already.
func failed(ctx context.Context, err error, format string, args ...any) error {
	var classified *domain.Error
	if err == nil || errors.As(err, &classified) || errors.Is(err, domain.ErrUnavailable) {
		return err
	}
	what := fmt.Sprintf(format, args...)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", what, context.Cause(ctx))
	}
	return fmt.Errorf("%s: %w: %w", what, domain.ErrUnavailable, err)
}

func notFound(key string) error {
	return domain.Errorf(domain.ErrNotFound, "there is no object %q", key)
}

func noUpload() error {
	return domain.Errorf(domain.ErrNotFound, "upload not found, or no access")
}

// missing reports whether a file does not exist: nothing can be below a file either.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

func ignoreMissing(err error) error {
	if missing(err) {
		return nil
	}
	return err
}

// blocked reports whether there is a folder in the place of a file, or a file in the
// place of a folder.
func blocked(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.EISDIR) || errors.Is(err, syscall.ENOTEMPTY)
}

const (
	// maxKey leaves room for a bucket's prefix: S3 allows 1,024 bytes.
	maxKey = 768
	// maxSegment is what file systems allow.
	maxSegment = 255
)

// CheckKey returns what is wrong with an object's key, "" for a valid one. A key is
// segments of UTF-8 text joined by slashes, none of them "." or "..".
func CheckKey(key string) string {
	switch problem := checkText(key); {
	case key == "":
		return "must not be empty"
	case len(key) > maxKey:
		return "must be at most 768 bytes"
	case problem != "":
		return problem
	}
	for segment := range strings.SplitSeq(key, "/") {
		switch {
		case segment == "":
			return "must not begin or end with a slash or hold two in a row"
		case segment == "." || segment == "..":
			return "must not have a segment that is '.' or '..'"
		case len(segment) > maxSegment:
			return "must not have a segment of more than 255 bytes"
		}
	}
	return ""
}

func checkText(text string) string {
	switch {
	case !utf8.ValidString(text):
		return "must be UTF-8"
	case strings.ContainsFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == '\\' }):
		return `must not hold control characters or '\'`
	}
	return ""
}

// checkCall returns an error for an invalid key and for a context that has ended.
func checkCall(ctx context.Context, key string) error {
	if problem := CheckKey(key); problem != "" {
		return domain.Errorf(domain.ErrInvalid, "the key %s", problem)
	}
	return ctx.Err()
}

// checkUpload returns an error for an upload that Begin cannot have made.
func checkUpload(upload Upload) error {
	if err := checkCall(context.Background(), upload.Key); err != nil {
		return err
	}
	if upload.ID == "" || len(upload.ID) > maxKey || checkText(upload.ID) != "" {
		return noUpload()
	}
	return nil
}
