package objects

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"parley/storage"
)

const (
	// maxKey leaves room for a bucket's prefix: S3 takes 1,024 bytes.
	maxKey = 768
	// maxSegment is what file systems take.
	maxSegment = 255
)

// CheckKey returns what is wrong with an object's key, "" when it is right. A key is
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

// checkPrefix returns what is wrong with the beginning of keys.
func checkPrefix(prefix string) string {
	if slash := strings.LastIndexByte(prefix, '/'); slash >= 0 {
		if problem := CheckKey(prefix[:slash]); problem != "" {
			return problem
		}
	}
	return checkText(prefix)
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

func validKey(key string) error {
	if problem := CheckKey(key); problem != "" {
		return storage.Errorf(storage.ErrInvalid, "the key %s", problem)
	}
	return nil
}
