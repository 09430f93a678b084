package objects

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/storage"
)

const (
	// maxKey leaves room for a bucket's prefix: S3 allows 1,024 bytes.
	maxKey = 768
	// maxSegment is what file systems allow.
	maxSegment = 255
)

// CheckKey returns what is wrong with an object's key, "" for a valid one. A key is
// segments of UTF-8 text joined by slashes, none of them "." or "..".
func CheckKey(key string) string {
	if key == "" {
		return "must not be empty"
	}
	if len(key) > maxKey {
		return "must be at most 768 bytes"
	}
	if problem := checkText(key); problem != "" {
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
		return storage.Errorf(storage.ErrInvalid, "the key %s", problem)
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
