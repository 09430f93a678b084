package a2aserver

import (
	"testing"

	"parley/storage"
)

// Names in A2A messages mean whom they mean elsewhere.
func TestActor(t *testing.T) {
	t.Parallel()
	caller := storage.Caller{Username: "ann"}
	for name, want := range map[string]string{
		"self": "ann", "SELF": "ann", "Bob": "bob", "Jose\u0301": "jos\u00e9",
		"\u017felf": "\u017felf", // equal to self only when case is folded beyond ASCII
	} {
		if got := actor(caller, name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
