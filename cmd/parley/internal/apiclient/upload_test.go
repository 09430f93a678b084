package apiclient

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// uploading is a server that has one file to get, of ten bytes.
type uploading struct {
	// parts is what it says of them, ADDRESS standing for its own.
	parts string
	// status is what it answers to the question for them.
	status int
	// put answers a part, the nth one.
	put func(w http.ResponseWriter, n int32)
}

// send sends ten bytes to the server, or those of another file.
func (u uploading) send(t *testing.T, file string) (puts int32, progress *Progress, err error) {
	t.Helper()
	var count atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet:
			if u.status != 0 {
				w.WriteHeader(u.status)
			}
			_, _ = io.WriteString(w, strings.ReplaceAll(u.parts, "ADDRESS", "http://"+r.Host+"/part"))
		case http.MethodPut:
			if r.Header.Get("Authorization") != "" {
				t.Error("the token was sent with a part")
			}
			_, _ = io.Copy(io.Discard, r.Body)
			u.put(w, count.Add(1))
		default:
			_, _ = io.WriteString(w, "{}")
		}
	}))
	defer server.Close()
	progress = &Progress{}
	err = New(server.URL, "secret", 4).SendFile(t.Context(), Upload{SessionID: "session", FileIDs: []string{"file"}}, 0,
		File{"ten.txt", io.NewSectionReader(strings.NewReader(file), 0, 10)}, progress)
	return count.Load(), progress, err
}

func stored(w http.ResponseWriter, _ int32) { w.Header().Set("ETag", `"x"`) }

const twoParts = `{"fileStatus":"preparing","parts":[{"partNumber":1,"partSize":6,"url":"ADDRESS"},{"partNumber":2,"partSize":4,"etag":"y"}]}`

func TestSendFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		server      uploading
		puts        int32
		there, sent int64
	}{
		"what is missing":    {uploading{parts: twoParts, put: stored}, 1, 4, 6},
		"nothing is missing": {uploading{parts: `{"fileStatus":"completed","parts":[]}`}, 0, 10, 0},
		"a busy server": {uploading{parts: twoParts, put: func(w http.ResponseWriter, n int32) {
			if n <= 2 {
				http.Error(w, "later", []int{0, http.StatusServiceUnavailable, http.StatusForbidden}[n])
				return
			}
			stored(w, n)
		}}, 3, 4, 6},
		"too much under way": {uploading{parts: twoParts, put: func(w http.ResponseWriter, n int32) {
			if n == 1 {
				w.Header().Set("Retry-After", "1")
				http.Error(w, "later", http.StatusTooManyRequests)
				return
			}
			stored(w, n)
		}}, 2, 4, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			puts, progress, err := test.server.send(t, "0123456789")
			if err != nil || puts != test.puts || progress.There.Load() != test.there || progress.Sent.Load() != test.sent {
				t.Errorf("%d parts, %d bytes there and %d sent, %v", puts, progress.There.Load(), progress.Sent.Load(), err)
			}
		})
	}
}

// TestSendFileGivesUp has servers and files that no trying again helps with.
func TestSendFileGivesUp(t *testing.T) {
	t.Parallel()
	part := `{"partNumber":%d,"partSize":%d,"url":"ADDRESS"}`
	parts := func(list ...string) string { return `{"parts":[` + strings.Join(list, ",") + `]}` }
	refused := func(status int) func(w http.ResponseWriter, _ int32) {
		return func(w http.ResponseWriter, _ int32) { http.Error(w, "no", status) }
	}
	for name, test := range map[string]struct {
		server uploading
		file   string
		puts   int32
		want   string
	}{
		"too little":         {uploading{parts: parts(fmt.Sprintf(part, 1, 9))}, "0123456789", 0, "do not match the file"},
		"too much":           {uploading{parts: parts(fmt.Sprintf(part, 1, 11))}, "0123456789", 0, "part 1 of a file with 11 bytes"},
		"nothing":            {uploading{parts: `{}`}, "0123456789", 0, "do not match the file"},
		"out of order":       {uploading{parts: parts(fmt.Sprintf(part, 2, 10))}, "0123456789", 0, "part 2"},
		"empty parts":        {uploading{parts: parts(fmt.Sprintf(part, 1, 0))}, "0123456789", 0, "0 bytes"},
		"no JSON":            {uploading{parts: `<html>`}, "0123456789", 0, "no Parley server is at"},
		"no address":         {uploading{parts: parts(`{"partNumber":1,"partSize":10,"url":":"}`)}, "0123456789", 0, "an invalid address for a part"},
		"a part refused":     {uploading{parts: twoParts, put: refused(http.StatusUnprocessableEntity)}, "0123456789", 1, "422"},
		"a wrong token":      {uploading{status: http.StatusUnauthorized}, "0123456789", 0, "401"},
		"a shorter file":     {uploading{parts: twoParts, put: stored}, "01234", 1, "became shorter"},
		"an upload aborted":  {uploading{status: http.StatusUnprocessableEntity}, "0123456789", 0, ErrUploadGone.Error()},
		"an upload unknown":  {uploading{status: http.StatusNotFound, parts: `{"error_code":"NOT_FOUND"}`}, "0123456789", 0, ErrUploadGone.Error()},
		"far too many parts": {uploading{parts: parts(strings.Repeat(fmt.Sprintf(part, 1, 1)+",", maxParts) + fmt.Sprintf(part, 1, 1))}, "0123456789", 0, "10001 parts"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			puts, _, err := test.server.send(t, test.file)
			if err == nil || !strings.Contains(err.Error(), test.want) || puts > test.puts {
				t.Errorf("%d parts, %v; want %q", puts, err, test.want)
			}
			if gone := test.want == ErrUploadGone.Error(); errors.Is(err, ErrUploadGone) != gone {
				t.Errorf("%v", err)
			}
		})
	}
}
