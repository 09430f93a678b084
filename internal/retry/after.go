package retry

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// After reads how long a server asks to be left alone, in its Retry-After header: seconds,
// or a time. It gives at most limit, and 0 for nothing that can be read.
func After(header http.Header, limit time.Duration) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return min(time.Duration(seconds)*time.Second, limit)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(0, time.Until(at)), limit)
	}
	return 0
}
