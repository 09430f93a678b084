package client

import (
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 47 * time.Hour: "47h", 49 * time.Hour: "2d"} {
		if got := age(d); got != want {
			t.Errorf("%s: %s", d, got)
		}
	}
}

// TestShortNamespace leaves out the user's own name.
func TestShortNamespace(t *testing.T) {
	t.Parallel()
	for namespace, want := range map[string]string{"alice/shop": "shop", "shop": "shop", "bob/shop": "bob/shop", "": ""} {
		if got := (tokenUser{Subject: "alice"}).shortNamespace(namespace); got != want {
			t.Errorf("%q: %q, want %q", namespace, got, want)
		}
	}
}
