package apiclient

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"
)

func TestPauseAskedFor(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err         error
		least, most time.Duration
	}{
		{errors.New("why"), 0, 0},
		{&StatusError{After: 4 * time.Second}, 4 * time.Second, 5 * time.Second},
		{&StatusError{}, 0, 0},
	} {
		if got := retryAfter(test.err); got < test.least || got > test.most {
			t.Errorf("after %v: %v", test.err, got)
		}
	}
}

// TestPrepareWaitsItsTurn has a server that has too much of the user's to do at
// first, and then says how long to wait.
func TestPrepareWaitsItsTurn(t *testing.T) {
	t.Parallel()
	var asked atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		_, _ = io.WriteString(w, `{"sessionId":"s","files":[]}`)
	}))
	defer server.Close()
	upload, err := New(server.URL, "token", 1).PrepareUpload(t.Context(), nil)
	if err != nil || upload.SessionID != "s" || asked.Load() != 2 {
		t.Errorf("%+v, %v, asked %d times", upload, err, asked.Load())
	}
}
