package accept

import (
	"net/http"
	"slices"
	"testing"
)

func TestMediaTypes(t *testing.T) {
	t.Parallel()
	header := http.Header{"Accept": {"Text/Event-Stream; q=0.9, application/json;q=0", " */* , ;;, text/csv;q=x"}}
	if got, want := MediaTypes(header), []string{"text/event-stream", "*/*", "text/csv"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := MediaTypes(http.Header{}); len(got) != 0 {
		t.Errorf("without the header: %q", got)
	}
}
