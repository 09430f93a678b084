// Package accept reads the Accept header of requests.
package accept

import (
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// MediaTypes returns the media types that a client accepts, in lower case and without
// parameters. Those with a quality of 0 are not accepted.
func MediaTypes(header http.Header) []string {
	var all []string
	for accepted := range strings.SplitSeq(strings.Join(header.Values("Accept"), ","), ",") {
		mediaType, parameters, err := mime.ParseMediaType(accepted)
		if err != nil {
			continue
		}
		if quality, err := strconv.ParseFloat(parameters["q"], 64); err == nil && quality <= 0 {
			continue
		}
		all = append(all, mediaType)
	}
	return all
}
