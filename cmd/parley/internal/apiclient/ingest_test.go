package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// listing is a server that lists ingestions, the newest first, as servers do.
func listing(t *testing.T, all func(look int) []Ingestion) *Client {
	t.Helper()
	looks := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		before := time.Now().Add(time.Hour)
		if text := r.URL.Query().Get("beforeCreatedAt"); text != "" {
			before, _ = time.Parse(time.RFC3339, text)
		} else {
			looks++
		}
		page := []Ingestion{}
		for _, i := range all(looks) {
			if len(page) < ingestionsPage && i.Attributes.CreatedAt.UnixMilli() < before.UnixMilli() {
				page = append(page, i)
			}
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"data": page})
	}))
	t.Cleanup(server.Close)
	return New(server.URL, "token", 1)
}

// ingestion makes the nth of a list, so many of which began at the same time.
func ingestion(n, together int, status string) Ingestion {
	i := Ingestion{ID: fmt.Sprint(n), Status: status, StatusMessage: "why"}
	i.Attributes.CreatedAt = time.UnixMilli(1_700_000_000_000 - int64(n/together))
	return i
}

// An ingestion is found however many newer ones there are.
func TestWaitForIngestion(t *testing.T) {
	t.Parallel()
	c := listing(t, func(look int) (all []Ingestion) {
		for n := range 350 {
			status := "completed"
			switch {
			case n == 300 && look < 3:
				status = "processing"
			case n == 301:
				status = "failed"
			}
			all = append(all, ingestion(n, 30, status))
		}
		return all
	})
	looks := 0
	got, err := c.WaitForIngestion(t.Context(), "/self/shop/orders", "300", func(Ingestion) { looks++ })
	if err != nil || got.ID != "300" || !got.Completed() || looks != 2 {
		t.Errorf("%+v, %v after %d looks", got, err, looks)
	}
	if _, err := c.WaitForIngestion(t.Context(), "/self/shop/orders", "301", nil); !errors.Is(err, ErrNotIngested) || err.Error() != "was not ingested: why" {
		t.Errorf("failed: %v", err)
	}
	if _, err := c.WaitForIngestion(t.Context(), "/self/shop/orders", "350", nil); !errors.Is(err, ErrNoIngestion) {
		t.Errorf("unknown: %v", err)
	}
}

// A server that leads in a circle is not followed for ever.
func TestIngestionsEnd(t *testing.T) {
	t.Parallel()
	page := make([]Ingestion, ingestionsPage)
	for n := range page {
		page[n] = ingestion(n, ingestionsPage, "completed")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{"data": page})
	}))
	defer server.Close()
	count := 0
	for _, err := range New(server.URL, "token", 1).Ingestions(t.Context(), "/self/shop/orders") {
		if count++; err != nil {
			t.Fatal(err)
		}
	}
	if count > 3*ingestionsPage {
		t.Errorf("%d ingestions", count)
	}
}
