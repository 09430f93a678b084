package golden

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	jwtPattern  = regexp.MustCompile(`\beyJ[\w-]*\.eyJ[\w-]*\.[\w-]*`)
	timePattern = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	msPattern   = regexp.MustCompile(`("(?:createdAt|updatedAt)\\*"\s*:\s*)\d{13}\b`)
	hostPattern = regexp.MustCompile(`\b(?:127(?:\.\d{1,3}){3}|localhost):\d{1,5}\b|\[::1\]:\d{1,5}\b`)
	hashPattern = regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	// No word boundaries: ids may have a prefix, such as run_.
	uuidPattern = regexp.MustCompile(`(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
)

// Scrub replaces what differs between runs by names:
//
//   - UUIDs by <uuid-1>, <uuid-2> and so on, in order of first appearance, the
//     same UUID by the same name whatever its case
//   - RFC 3339 times by <time>
//   - epoch milliseconds in the JSON fields createdAt and updatedAt by <ms>; a
//     number of another length, such as one of seconds, stays
//   - JSON Web Tokens by <jwt>
//   - hashes, SHA-256 in hexadecimal digits, by <hash>
//   - loopback addresses with a port by <host>
//
// It does not change its argument.
func Scrub(text []byte) []byte {
	// Tokens first: they can contain the others.
	text = jwtPattern.ReplaceAll(text, []byte("<jwt>"))
	text = timePattern.ReplaceAll(text, []byte("<time>"))
	text = msPattern.ReplaceAll(text, []byte("${1}<ms>"))
	text = hashPattern.ReplaceAll(text, []byte("<hash>"))
	text = hostPattern.ReplaceAll(text, []byte("<host>"))
	names := map[string]string{}
	return uuidPattern.ReplaceAllFunc(text, func(uuid []byte) []byte {
		key := strings.ToLower(string(uuid))
		if names[key] == "" {
			names[key] = fmt.Sprintf("<uuid-%d>", len(names)+1)
		}
		return []byte(names[key])
	})
}
