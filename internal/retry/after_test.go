package retry_test

import (
	"net/http"
	"testing"
	"time"

	"parley/internal/retry"
)

func TestAfter(t *testing.T) {
	t.Parallel()
	far := time.Now().Add(time.Hour).UTC().Format(http.TimeFormat)
	for text, want := range map[string]time.Duration{
		"": 0, "0": 0, "2": 2 * time.Second, " 60 ": time.Minute, "61": time.Minute, far: time.Minute,
		"99999999999": 0, "-1": 0, "1.5": 0, "soon": 0, "Fri, 31 Dec 1999 23:59:59 GMT": 0,
	} {
		if got := retry.After(http.Header{"Retry-After": {text}}, time.Minute); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	if got := retry.After(nil, time.Minute); got != 0 {
		t.Errorf("no header: %v", got)
	}
}
