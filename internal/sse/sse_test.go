package sse_test

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"parley/internal/sse"
)

func TestWriter(t *testing.T) {
	t.Parallel()
	response := httptest.NewRecorder()
	w := sse.NewWriter(response, time.Minute)
	for _, err := range []error{
		w.Start(),
		w.Event(7, "", []byte(`{"a":`), []byte(`1}`)),
		w.Event(sse.NoID, "answer", []byte(`{}`)),
		w.KeepAlive(),
		w.Event(8, "both", bytes.Repeat([]byte("x"), 100<<10)),
		w.Flush(),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	want := "id: 7\ndata: {\"a\":1}\n\nevent: answer\ndata: {}\n\n: keep-alive\n\nid: 8\nevent: both\ndata: " +
		string(bytes.Repeat([]byte("x"), 100<<10)) + "\n\n"
	if got := response.Body.String(); got != want {
		t.Errorf("got %.200q", got)
	}
	if got := response.Header().Get("Content-Type"); got != sse.MediaType {
		t.Errorf("Content-Type %q", got)
	}
}

// slowClient reads a chunk in a given time.
type slowClient struct {
	http.ResponseWriter
	takes    time.Duration
	deadline time.Time
}

func (c *slowClient) SetWriteDeadline(deadline time.Time) error {
	c.deadline = deadline
	return nil
}

func (c *slowClient) Write(text []byte) (int, error) {
	if left := time.Until(c.deadline); left < c.takes {
		time.Sleep(left)
		return 0, os.ErrDeadlineExceeded
	}
	time.Sleep(c.takes)
	return len(text), nil
}

const chunk = 64 << 10

// A slow client that reads on receives a large event; one that does not is disconnected.
func TestSlowClient(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		event := make([]byte, 64*chunk)
		for takes, want := range map[time.Duration]error{7 * time.Second: nil, 16 * time.Second: sse.ErrClientGone} {
			w := sse.NewWriter(&slowClient{ResponseWriter: httptest.NewRecorder(), takes: takes}, 15*time.Second)
			if err := w.Start(); err != nil {
				t.Fatal(err)
			}
			if err := w.Event(1, "", event); !errors.Is(err, want) {
				t.Errorf("%v for a chunk: %v", takes, err)
			}
		}
	})
}
