package a2aserver

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"parley/internal/baseurl"
)

// Versions of A2A. protocolVersion is that of every binding; JSON-RPC has legacyVersion
// as well, by the names of its methods.
const (
	protocolVersion = "1.0"
	legacyVersion   = "0.3"
)

type legacyKey struct{}

// withLegacy says in a context that its request is one of A2A 0.3.
func withLegacy(ctx context.Context) context.Context {
	return context.WithValue(ctx, legacyKey{}, true)
}

func isLegacy(ctx context.Context) bool { return ctx.Value(legacyKey{}) != nil }

// namedVersion returns the version in the header or, by a name in any case, in the query.
func namedVersion(r *http.Request) string {
	if version := r.Header.Get(a2a.SvcParamVersion); version != "" || r.URL.RawQuery == "" {
		return version
	}
	for name, values := range r.URL.Query() {
		if strings.EqualFold(name, a2a.SvcParamVersion) && values[0] != "" {
			return values[0]
		}
	}
	return ""
}

// readVersion returns the version that a client names, without its patch number, which does
// not count; "" for none. One that is not supported is refused.
func readVersion(named string, supported ...string) (string, error) {
	version := strings.TrimSpace(named)
	if parts := strings.Split(version, "."); len(parts) == 3 && isNumber(parts[2]) {
		version = parts[0] + "." + parts[1]
	}
	if version == "" || slices.Contains(supported, version) {
		return version, nil
	}
	is := " is"
	if len(supported) > 1 {
		is = " are"
	}
	return "", a2a.NewError(a2a.ErrVersionNotSupported,
		fmt.Sprintf("A2A version %q is not supported; %s", shorten(version), strings.Join(supported, " and ")+is),
	).WithErrorInfoMeta(map[string]string{"supportedVersions": strings.Join(supported, ",")})
}

// setExtensions tells a client which of the extensions that it asked for are activated: those
// that the agent has.
func (s *agentService) setExtensions(w http.ResponseWriter, r *http.Request) {
	if activated := s.activated(r.Context(), r.Header.Values(a2a.SvcParamExtensions)); activated != "" {
		w.Header().Set(a2a.SvcParamExtensions, activated)
	}
}

// activated returns the extensions of an agent that are in lists of URIs, as such a list.
func (s *agentService) activated(ctx context.Context, lists []string) string {
	if len(lists) == 0 {
		return ""
	}
	var requested, activated []string
	for _, uri := range strings.Split(strings.Join(lists, ","), ",") {
		requested = append(requested, strings.TrimSpace(uri))
	}
	for _, extension := range s.agent.Card(baseurl.From(ctx)).Capabilities.Extensions {
		if slices.Contains(requested, extension.URI) {
			activated = append(activated, extension.URI)
		}
	}
	return strings.Join(activated, ", ")
}

// isNumber reports whether a text is a number of one to nine digits.
func isNumber(text string) bool {
	notDigit := func(c rune) bool { return c < '0' || c > '9' }
	return text != "" && len(text) < 10 && !strings.ContainsFunc(text, notDigit)
}
