package baseurl

import (
	"net/url"
	"strings"
)

// Normalize returns an address as browsers write its origin: in lower case, without the default
// port; and without a final slash.
func Normalize(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return address
	}
	u.Host = strings.ToLower(u.Host)
	switch u.Scheme {
	case "http":
		u.Host = strings.TrimSuffix(u.Host, ":80")
	case "https":
		u.Host = strings.TrimSuffix(u.Host, ":443")
	}
	return strings.TrimRight(u.String(), "/")
}
