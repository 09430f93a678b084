// Package locale says how a reader writes numbers. It leaves the words around them, and
// dates, to its users: they stay English.
package locale

import (
	"cmp"
	"context"
	"strings"

	"golang.org/x/text/language"
)

// maxHeader is the longest header that is read, in bytes.
const maxHeader = 256

// Parse returns the tag of the language that an Accept-Language header prefers, without
// extensions; "", which is English, where it names none or is wrong.
func Parse(header string) string {
	if header == "" || len(header) > maxHeader {
		return ""
	}
	tags, _, err := language.ParseAcceptLanguage(header)
	if err != nil || len(tags) == 0 {
		return ""
	}
	base, script, region := tags[0].Raw()
	if base.String() == "und" || base.String() == "mul" {
		return ""
	}
	tag, err := language.Compose(base, script, region)
	if err != nil {
		return ""
	}
	return tag.String()
}

// FromEnvironment returns the tag that the variables of a process name; "en" for none.
func FromEnvironment(getenv func(string) string) string {
	name := cmp.Or(getenv("LC_ALL"), getenv("LC_NUMERIC"), getenv("LANG"))
	name, _, _ = strings.Cut(name, ".") // the encoding
	name, _, _ = strings.Cut(name, "@")
	return cmp.Or(Parse(strings.ReplaceAll(name, "_", "-")), "en") // C and POSIX are no languages
}

type contextKey struct{}

// With returns a context with what its reader accepts: an Accept-Language header, or a tag.
// It is read only when it is needed, as most requests write no number.
func With(ctx context.Context, accepted string) context.Context {
	if accepted == "" {
		return ctx
	}
	return context.WithValue(ctx, contextKey{}, accepted)
}

// From returns the tag of the reader's locale, as Parse does.
func From(ctx context.Context) string {
	accepted, _ := ctx.Value(contextKey{}).(string)
	return Parse(accepted)
}
